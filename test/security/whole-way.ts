import { viewAlertDetail } from "../../src/contract/make-views.ts";
import type { Alert, Translation } from "../../src/core/alert.ts";
import type { ChannelType } from "../../src/core/delivery.ts";
import { mappableFacts } from "../../src/core/mapping.ts";
import type { Document } from "../../src/core/message.ts";
import type { AlertDetail } from "../../src/core/ports/alert-log.ts";
import type { Condition } from "../../src/core/rules.ts";
import { compileMapping } from "../../src/intake/find/mapped-facts.ts";
import { createShapeReader } from "../../src/intake/find/shape.ts";
import { explicitKey } from "../../src/intake/key/explicit-key.ts";
import { readRequest } from "../../src/intake/read/read-request.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { fieldsPanel, headFacts, readFacts } from "../../src/panels/alert.ts";
import type { Panel } from "../../src/panels/panel.ts";
import { createRouter } from "../../src/routing/router.ts";
import { searchableText, splitSearch } from "../../src/store/search-words.ts";
import { readableText, vendors } from "../../src/vendors/index.ts";
import { showBody } from "../../src/web/body-text.ts";
import { PanelView } from "../../src/web/pages/panel.tsx";
import type { Frame } from "../../src/web/web-env.ts";
import { dataOf, makeAlert, makeContext, publicUrl, receivedAt } from "../rendering/sample.ts";
import { chat, route, rules } from "../routing/sample.ts";
import { createRendering } from "../support/rendering.ts";

/** Everything that a body goes through, each step by itself. */

export type ReadBody = { bytes: Buffer; contentType: string | undefined };

const keyPaths = ["payload.event.id", "payload.alerts[0].labels.id", "payload.items[3].id", "payload.id"];

const mapping = compileMapping(
  Object.fromEntries(
    mappableFacts.map((fact) => [fact, [...keyPaths, "payload.title", "payload.text", "payload.a", "payload.items"]]),
  ),
);

/** What the door and the routing loop do with bytes. */
export const readings: Readonly<Record<string, (body: ReadBody) => unknown>> = {
  translateRequest: ({ bytes, contentType }) => translateRequest(bytes, contentType),
  /** A reader of shapes that has seen none describes all that it may. */
  translateMapped: ({ bytes, contentType }) =>
    translateRequest(bytes, contentType, { mapping, shapes: createShapeReader() }),
  countAlerts: ({ bytes, contentType }) => readRequest(bytes, contentType).countAlerts(),
  explicitKey: ({ bytes, contentType }) => explicitKey({}, readRequest(bytes, contentType), keyPaths),
  showBody: ({ bytes }) => showBody(bytes),
};

const conditions: Condition[] = [
  { equals: ["USDC", "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "5"] },
  { not: ["USDC", "5.0"] },
  { lt: 5, gte: -1e9 },
  { exists: true },
  { matches: "(?i)(a+)+$" },
  { notMatches: "^(\\w+\\s?)*\\.$" },
];
const fields = [
  "title",
  "text",
  "value",
  "payload.title",
  "payload.items[*]",
  "payload.items[*].a",
  "payload[*]",
  "payload.alerts[*].labels.a",
];
/** Each kind of matcher on each kind of field, and none ends the search. */
const router = createRouter(
  rules({
    destinations: [chat("desk")],
    routes: fields.flatMap((field) =>
      conditions.map((condition, index) =>
        route(`${field} ${index}`, ["desk"], { matchers: [{ field, condition }], continue: true }),
      ),
    ),
  }),
);

export const routeOne = ({ facts, payload }: Translation): unknown =>
  router.route({ facts, payload, origin: "hook" }, [], receivedAt);

const channels: ChannelType[] = vendors.map(({ type }) => type);
const rendering = createRendering({ publicUrl });

export const alertOf = ({ facts }: Translation, seq = 1): Alert => ({ ...makeAlert(), seq, facts });

/** All messages of all channels in both forms; returns their characters. */
export const renderOne = (alert: Alert): number =>
  renderAll(rendering.composeAlert(alert, makeContext()), "alert", [alert]);

export function renderDigest(alerts: Alert[]): number {
  const document = rendering.composeDigest(alerts, { now: receivedAt, reason: "burst", possibleRepeat: false });
  return renderAll(document, "digest", alerts);
}

function renderAll(document: Document, type: "alert" | "digest", alerts: Alert[]): number {
  let units = 0;
  for (const channel of channels) {
    for (const form of ["rich", "plain"] as const) {
      const messages = rendering.renderDocument(channel, document, {
        form,
        timeZone: "Europe/Zurich",
        data: dataOf(alerts, { type }),
      });
      for (const message of messages) units += readableText(message).length;
    }
  }
  return units;
}

/** The facts on the alert's page, and what its search takes in. */
export function showOne(alert: Alert): string {
  const detail = { ...alert, decisions: [], deliveries: [] } as unknown as AlertDetail;
  splitSearch(searchableText(alert.id, alert.facts));
  const seen = viewAlertDetail(detail, { publicUrl });
  const panel: Panel = [{ kind: "facts", rows: [...headFacts(seen), ...readFacts(seen)] }, ...fieldsPanel(seen)];
  return String(PanelView({ panel, frame: { now: receivedAt } as Frame }));
}
