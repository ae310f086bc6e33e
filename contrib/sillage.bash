# bash completion for sillage; made by `sillage help completion`.
_sillage() {
    local word=${COMP_WORDS[COMP_CWORD]} options
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W 'live analyze top list replay triggers lami capture report overview map merge setup watch help' -- "$word"))
        return
    fi
    case ${COMP_WORDS[1]} in
    live) options='--analyses --format --interval --top --jobs --output --chunk-size --max-memory --duration --windows --from --grace --on-lag --lag-limit --retry --no-retry --state --state-every --regenerate --tid --pid --comm --cpu --irq --per --containers --sort --min --max --freq --freq-bins --period --job --ust-span --phases --trigger --triggers --on-trigger --trigger-interval --dry-run --fail --strict --junit --tap --history --history-dir --before --after --capture-dir --keep --captures-per-hour --control --metrics --stats --quiet --verbose --help' ;;
    analyze) options='--analyses --format --interval --top --jobs --output --chunk-size --max-memory --from --begin --end --state --tid --pid --comm --cpu --irq --per --containers --sort --min --max --freq --freq-bins --period --job --ust-span --phases --trigger --triggers --on-trigger --trigger-interval --dry-run --fail --strict --junit --tap --stats --quiet --verbose --help' ;;
    top) options='--analyses --interval --jobs --chunk-size --max-memory --from --grace --on-lag --lag-limit --retry --no-retry --begin --end --regenerate --tid --pid --comm --cpu --irq --per --containers --sort --min --max --period --job --ust-span --metrics --quiet --verbose --help' ;;
    list) options='--format --quiet --verbose --help' ;;
    replay) options='--to --speed --loop --session --hostname --live-timer --wait-viewer --linger --as-now --quiet --verbose --help' ;;
    triggers) options='--check --quiet --verbose --help' ;;
    lami) options='--analyses --interval --top --jobs --output --chunk-size --max-memory --begin --end --tid --pid --comm --cpu --irq --per --containers --sort --min --max --period --job --ust-span --mi-version --metadata --test-compatibility --output-progress --quiet --verbose --help' ;;
    capture) options='--format --quiet --verbose --help' ;;
    report) options='--format --top --jobs --output --max-memory --from --begin --end --thread --job --deadline --discover --resources --within --every --worst --quiet --verbose --help' ;;
    overview) options='--analyses --format --top --jobs --output --chunk-size --max-memory --from --begin --end --slices --compromise --hierarchy --quiet --verbose --help' ;;
    map) options='--analyses --interval --jobs --output --chunk-size --max-memory --begin --end --period --job --ust-span --quiet --verbose --help' ;;
    merge) options='--format --top --jobs --output --max-memory --tid --pid --comm --cpu --irq --per --containers --sort --min --max --freq --freq-bins --quiet --verbose --help' ;;
    setup) options='--analyses --session --live-timer --ust --relay --run --period --job --ust-span --quiet --verbose --help' ;;
    watch) options='--analyses --format --interval --top --jobs --output --chunk-size --max-memory --duration --windows --grace --on-lag --lag-limit --live-timer --ust --tid --pid --comm --cpu --irq --per --containers --sort --min --max --freq --freq-bins --period --job --ust-span --phases --trigger --triggers --on-trigger --trigger-interval --dry-run --fail --strict --junit --tap --history --history-dir --before --after --capture-dir --keep --captures-per-hour --control --metrics --stats --quiet --verbose --help' ;;
    esac
    case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) compopt -o default ;;
    esac
}
complete -F _sillage sillage
