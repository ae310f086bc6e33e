# bash completion for sillage; made by `sillage help completion`.
_sillage() {
    local word=${COMP_WORDS[COMP_CWORD]} commands options='' values='' before=''
    commands='live analyze top list replay triggers lami capture report overview map merge setup watch export history compare help'
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "$commands" -- "$word"))
        return
    fi
    case ${COMP_WORDS[1]} in
    live) options='--analyses --format --interval --top --jobs --output --chunk-size --max-memory --duration --windows --from --grace --on-lag --lag-limit --retry --no-retry --store --store-also --store-keep --state --state-every --regenerate --tid --pid --comm --thread --cpu --irq --per --containers --sort --min --max --width --freq --buckets --freq-bins --period --job --label --model --ust-span --phases --trigger --triggers --on-trigger --trigger-interval --baseline --dry-run --fail --strict --junit --tap --history --history-dir --before --after --capture-dir --keep --captures-per-hour --control --metrics --metrics-profile --web --stats --quiet --verbose --help' ;;
    analyze) options='--analyses --format --interval --top --jobs --output --chunk-size --max-memory --from --begin --end --store --store-also --store-keep --state --tid --pid --comm --thread --cpu --irq --per --containers --sort --min --max --width --freq --buckets --freq-bins --period --job --label --model --ust-span --phases --trigger --triggers --on-trigger --trigger-interval --baseline --dry-run --fail --strict --junit --tap --stats --quiet --verbose --help' ;;
    top) options='--analyses --interval --jobs --chunk-size --max-memory --from --grace --on-lag --lag-limit --retry --no-retry --begin --end --since --until --host --session --regenerate --tid --pid --comm --thread --cpu --irq --per --containers --sort --min --max --period --job --label --model --ust-span --history --metrics --metrics-profile --quiet --verbose --help' ;;
    list) options='--format --quiet --verbose --help' ;;
    replay) options='--to --speed --loop --session --hostname --live-timer --wait-viewer --linger --as-now --quiet --verbose --help' ;;
    triggers) options='--check --quiet --verbose --help' ;;
    lami) options='--analyses --interval --top --jobs --output --chunk-size --max-memory --begin --end --tid --pid --comm --thread --cpu --irq --per --containers --sort --min --max --period --job --label --model --ust-span --mi-version --metadata --test-compatibility --output-progress --quiet --verbose --help' ;;
    capture) options='--format --quiet --verbose --help' ;;
    report) options='--format --top --jobs --output --max-memory --from --begin --end --thread --tid --comm --job --deadline --discover --start --resources --within --every --worst --quiet --verbose --help' ;;
    overview) options='--analyses --format --top --jobs --output --chunk-size --max-memory --from --begin --end --slices --compromise --hierarchy --quiet --verbose --help' ;;
    map) options='--analyses --interval --jobs --output --chunk-size --max-memory --begin --end --period --job --label --model --ust-span --quiet --verbose --help' ;;
    merge) options='--format --top --jobs --output --max-memory --tid --pid --comm --thread --cpu --irq --per --containers --sort --min --max --width --freq --buckets --freq-bins --quiet --verbose --help' ;;
    setup) options='--analyses --session --live-timer --ust --relay --rate --away --run --period --job --label --model --ust-span --quiet --verbose --help' ;;
    watch) options='--analyses --format --interval --top --jobs --output --chunk-size --max-memory --duration --windows --grace --on-lag --lag-limit --store --store-also --store-keep --live-timer --ust --tid --pid --comm --thread --cpu --irq --per --containers --sort --min --max --width --freq --buckets --freq-bins --period --job --label --model --ust-span --phases --trigger --triggers --on-trigger --trigger-interval --baseline --dry-run --fail --strict --junit --tap --history --history-dir --before --after --capture-dir --keep --captures-per-hour --control --metrics --metrics-profile --web --stats --quiet --verbose --help' ;;
    export) options='--analyses --interval --jobs --output --from --begin --end --to --period --job --label --model --trigger --triggers --baseline --quiet --verbose --help' ;;
    history) options='--analyses --format --interval --top --output --since --until --follow --host --merged --session --tid --pid --comm --thread --cpu --irq --per --figure --containers --sort --min --max --width --freq --buckets --freq-bins --trigger --triggers --on-trigger --dry-run --fail --strict --junit --tap --quiet --verbose --help' ;;
    compare) options='--analyses --format --top --jobs --output --chunk-size --max-memory --host --session --per --period --job --label --model --fail --strict --junit --tap --quiet --verbose --help' ;;
    help) values="$commands json store completion" ;;
    esac
    case ${COMP_WORDS[COMP_CWORD-1]} in
    -a|--analyses) values='count cpu io files sched syscalls irq block memory net lost ust periods jobs faults preempt all help' ;;
    -f|--format) values='text json html perfetto' ;;
    --on-lag) values='keep skip' ;;
    --job) values='run run-to-sleep wake-to-sleep sleep periodic timerfd mq signal help' ;;
    --hierarchy) values='cpu process' ;;
    --to) values='perfetto' ;;
    --per) values='all cpu tid pid comm prio container host host,container' ;;
    --sort) values='count busy_ns idle_ns unknown_ns run_ns switches migrations prio preemptions longest_ns read_bytes write_bytes reads writes errors read_ns write_ns calls time error_time read_time write_time opens time_ns disk_read_bytes disk_write_bytes net_read_bytes net_write_bytes other_read_bytes other_write_bytes unknown_read_bytes unknown_write_bytes ns fd bytes wake requeue waited_ns waker_tid off_cpu_ns ret unhandled raise hard_ns soft_ns is_soft requests depth_ns depth_max in_flight queued allocations frees allocated_pages freed_pages failed reclaim_ns rx_bytes tx_bytes rx_packets tx_packets tx_drops events packets bad_packets late_events anomalies misses misses_run skipped unarrived abandoned cut open open_misses duration response late running preempted waiting blocked unknown duration_ns late_ns user minor major kernel major_ns times count sum min mean max stdev p50 p95 p99 p999' ;;
    --model) values='hip qemu ros2 valkey help' ;;
    --metrics-profile) values='small full' ;;
    esac
    if [ -n "$values" ]; then
        case $word in
        *,*) before=${word%,*}, ;;
        esac
        COMPREPLY=($(compgen -P "$before" -W "$values" -- "${word##*,}"))
        return
    fi
    case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) compopt -o default ;;
    esac
}
complete -F _sillage sillage
