import type { SendContext } from "../../src/core/ports/channel.ts";

/** What a channel knows of one delivery; `change` is what a test is about. */
export const sendContext = (change: Partial<SendContext> = {}): SendContext => ({
  recipient: "desk",
  deliveryId: "01939d2f-0000-7000-8000-000000000001",
  alertId: "01939d2f-0000-7000-8000-00000000a1e7",
  receivedAt: 1_763_700_000_000,
  threadKey: "tvl:gho",
  silent: false,
  signal: new AbortController().signal,
  mayCall: () => true,
  ...change,
});
