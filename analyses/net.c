/*
 * net: packets and bytes of each network interface (doc/definitions.md, 4.8).
 *
 * Received packets are counted after GRO and without the link header, sent ones before GSO and with
 * it.  So one packet here may be several on the wire, and the bytes of the two directions cannot be
 * compared.  Each of several stacked interfaces (bridge, bond, veth) sees a packet once, so nothing
 * is summed over interfaces.
 */
#include "engine/contract/handler.h"

enum { INTERFACES };
enum { RX_BYTES, TX_BYTES, RX_PACKETS, TX_PACKETS, TX_DROPS, TX_BUSY };

/* What a driver returns: the packet is queued, although there is congestion; it will come again. */
enum { TX_OK = 0, XMIT_CONGESTION = 2, DRIVER_BUSY = 0x10, DRIVER_LOCKED = 0x20 };

static void on_receive(struct worker *worker, void *state, const struct trace_event *event,
		       uint32_t user)
{
	enum { NAME, LEN };
	const struct value *name = event_text(event, NAME);
	uint64_t *row;

	if (name) {
		row = worker_keyed_row(worker, INTERFACES, 0, name->bytes, name->len);
		row[RX_PACKETS]++;
		row[RX_BYTES] += event_u64(event, LEN, 0);
	}
}

static void on_send(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t user)
{
	enum { NAME, LEN, RC };
	const struct value *name = event_text(event, NAME);
	uint64_t *row;

	if (!name) {
		return;
	}
	row = worker_keyed_row(worker, INTERFACES, 0, name->bytes, name->len);
	switch (event_i64(event, RC, TX_OK)) {
	case TX_OK:
	case XMIT_CONGESTION:
		row[TX_PACKETS]++;
		row[TX_BYTES] += event_u64(event, LEN, 0);
		break;
	case DRIVER_BUSY:
	case DRIVER_LOCKED:
		row[TX_BUSY]++;
		break;
	default:
		row[TX_DROPS]++;
	}
}

static const struct need needs[] = {
	{ "net_if_receive_skb", { "@name", "len" }, on_receive, 0 },
	{ "netif_receive_skb", { "@name", "len" }, on_receive, 0 },
	{ "net_dev_xmit", { "@name", "len", "rc" }, on_send, 0 },
};

static const struct essential essentials[] = {
	{ ANY_EVENT("net_if_receive_skb", "netif_receive_skb"),
	  { [INTERFACES] = COLUMN(RX_BYTES) | COLUMN(RX_PACKETS) } },
	{ ANY_EVENT("net_dev_xmit"),
	  { [INTERFACES] =
		    COLUMN(TX_BYTES) | COLUMN(TX_PACKETS) | COLUMN(TX_DROPS) | COLUMN(TX_BUSY) } },
};

const struct analysis analysis_net = {
	.name = "net",
	.summary = "bytes and packets received and sent by each network interface",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.tables = {
		[INTERFACES] = {
			.key = "interfaces",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS,
			.name_key = "name",
			.title = "INTERFACE",
			.lami_class = "netif",
			.sort_mask = 1u << RX_BYTES | 1u << TX_BYTES,
			.columns = {
				[RX_BYTES] = { "rx_bytes", "RECEIVED", UNIT_BYTES },
				[TX_BYTES] = { "tx_bytes", "SENT", UNIT_BYTES },
				[RX_PACKETS] = { "rx_packets", "PACKETS IN", UNIT_COUNT },
				[TX_PACKETS] = { "tx_packets", "OUT", UNIT_COUNT },
				[TX_DROPS] = { "tx_drops", "NOT SENT", UNIT_COUNT },
				[TX_BUSY] = { "tx_busy", NULL, UNIT_COUNT },
			},
		},
	},
};
