/** The receiver of alerts: Tocsin's hook (also of the bare server), or Alertmanager's API. */
export type Dialect = "tocsin" | "alertmanager";

export interface Target {
  url: string;
  dialect: Dialect;
  /** The process whose processor time is measured. */
  pid: number;
  /** The file for the number of its statements, see `count-statements.cjs`. Absent: they are not counted. */
  statements?: string;
}

const digits = 12;
const marker = "bench-";
const placeholder = marker + "0".repeat(digits);
const shared = { metric: "eth_token_total_tvl_0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", severity: "warning" };
const values = { value: "4912345.67", previousValue: "5100000.00", threshold: "5000000", note: "n".repeat(960) };

/** An alert of about 1.5 KB, as an alerting service may send it, and the same facts in Alertmanager's form. */
const bodies: Record<Dialect, unknown> = {
  tocsin: {
    ...shared,
    ...values,
    eventId: placeholder,
    fingerprint: placeholder,
    title: `TVL of USDC fell ${placeholder}`,
    chainId: "eth",
    token: { symbol: "USDC", address: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48" },
    condition: "below",
    status: "firing",
    timestamp: "2026-11-20T12:00:00Z",
    link: "https://example.com/metrics/1",
  },
  alertmanager: [
    {
      labels: { ...shared, alertname: "TVL", alert: placeholder, chain: "eth", token: "USDC" },
      annotations: { ...values, summary: `TVL of USDC fell ${placeholder}` },
      generatorURL: "https://example.com/metrics/1",
    },
  ],
};

export const bodyFor = ({ dialect }: Target) => JSON.stringify(bodies[dialect]);

/** `stamp` writes the next serial number into the bytes. A new body would cost as much as the server's work. */
export function createRequest(target: Target) {
  const { host, pathname } = new URL(target.url);
  const body = bodyFor(target);
  const text =
    `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
  const bytes = Buffer.from(text);
  const places = [...text.matchAll(new RegExp(placeholder, "g"))].map(({ index }) => index + marker.length);
  const stamp = (serial: number) => {
    for (const place of places) bytes.write(String(serial).padStart(digits, "0"), place, "latin1");
  };
  return { bytes, stamp };
}

/** The serial numbers of the alerts in a message or a body, with repeats. */
export function* serialsIn(text: Buffer): Generator<number> {
  for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + 1)) {
    const serial = Number(text.toString("latin1", at + marker.length, at + marker.length + digits));
    if (Number.isInteger(serial)) yield serial;
  }
}
