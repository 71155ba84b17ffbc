import { createHttpVendor, json, parseObject, type VendorAnswer } from "./http-vendor.ts";

/**
 * Refuses as a workflow does; stricter in one thing: it refuses at once what a workflow takes with a 202 and then fails
 * to post, and whatever a card of version 1.2 does not know, which Teams would leave out.
 */
export async function createTeamsVendor() {
  const query = "api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=canaryTeamsSignatureXXXXXXXX";
  const path = `/powerautomate/automations/direct/workflows/canaryWorkflow0/triggers/manual/paths/invoke?${query}`;
  /** What a person reads of the cards in the channel, a run after the other. */
  const seen: string[] = [];
  const vendor = await createHttpVendor((request): VendorAnswer => {
    const refuse = (status: number, code: string, message: string) => json(status, { error: { code, message } });
    const [given] = request.path.split("?");
    if (!path.startsWith(`${given}?`)) return refuse(404, "WorkflowNotFound", "The workflow could not be found.");
    if (request.path !== path) return refuse(401, "DirectApiAuthorizationRequired", "Shared Access scheme only.");
    if (request.method !== "POST" || !request.headers["content-type"]?.startsWith("application/json"))
      return refuse(400, "TriggerRequestMethodNotValid", "POST it as JSON.");
    const body = parseObject(request.body);
    const faults = body === undefined ? ["no JSON"] : faultsOf(body);
    const bytes = Buffer.byteLength(JSON.stringify(request.body));
    if (bytes > 28_672) faults.push(`MessageSizeExceeded: ${bytes} bytes, whereas max allowed size is 28672 bytes`);
    if (faults.length > 0) return refuse(400, "TriggerInputSchemaMismatch", faults.join("; "));
    seen.push(textsIn(body).join(""));
    return { status: 202 };
  });
  return { ...vendor, path, seen };
}

function faultsOf(body: Record<string, unknown>): string[] {
  const { type, summary, attachments, ...others } = body;
  const faults = Object.keys(others).map((name) => `unknown ${name}`);
  if (type !== "message") faults.push("type must be message");
  if (typeof summary !== "string" || summary === "") faults.push("no summary");
  if (!Array.isArray(attachments) || attachments.length !== 1) return [...faults, "attachments must be one card"];
  const [attachment] = attachments as Record<string, unknown>[];
  if (attachment?.contentType !== "application/vnd.microsoft.card.adaptive") faults.push("not a card");
  if (attachment?.contentUrl !== null) faults.push("contentUrl must be null");
  return [...faults, ...faultsOfElement(attachment?.content, ["AdaptiveCard"])];
}

const isWords = (value: unknown) => typeof value === "string" && value !== "";
const isOneOf =
  (...words: string[]) =>
  (value: unknown) =>
    words.includes(String(value));
const isTrue = (value: unknown) => value === true;
const spacing = isOneOf("None", "Small", "Medium");

/** For each element that a card may have: what its properties may be, and which elements it may hold. */
const elements: Record<string, Record<string, ((value: unknown) => boolean) | string[]>> = {
  AdaptiveCard: {
    version: isOneOf("1.2"),
    msteams: (value) => JSON.stringify(value) === '{"width":"Full"}',
    fallbackText: isWords,
    body: ["RichTextBlock", "Container"],
    actions: ["Action.OpenUrl"],
  },
  Container: { spacing, style: isOneOf("emphasis"), items: ["RichTextBlock"] },
  RichTextBlock: { spacing, inlines: ["TextRun"] },
  TextRun: {
    text: (value) => isWords(value) && !/\{\{(DATE|TIME)\(/.test(String(value)),
    size: isOneOf("Medium"),
    weight: isOneOf("Bolder"),
    color: isOneOf("Default", "Good", "Warning", "Attention"),
    italic: isTrue,
    isSubtle: isTrue,
    fontType: isOneOf("Monospace"),
    selectAction: ["Action.OpenUrl"],
  },
  "Action.OpenUrl": { title: isWords, url: (value) => /^https?:\/\//.test(String(value)) },
};
const required: Record<string, string> = {
  AdaptiveCard: "body",
  Container: "items",
  RichTextBlock: "inlines",
  TextRun: "text",
  "Action.OpenUrl": "url",
};

function faultsOfElement(element: unknown, allowed: string[]): string[] {
  if (typeof element !== "object" || element === null) return ["not an element"];
  const { type, ...properties } = element as Record<string, unknown>;
  const known = allowed.includes(String(type)) ? elements[String(type)] : undefined;
  if (known === undefined) return [`unknown element ${String(type)}`];
  const needed = required[String(type)];
  const missing = needed === undefined || needed in properties ? [] : [`${String(type)} without ${needed}`];
  const wrong = Object.entries(properties).flatMap(([name, value]) => {
    const rule = known[name];
    const what = `${String(type)}.${name}`;
    if (rule === undefined) return [`unknown property ${what}`];
    if (typeof rule === "function") return rule(value) ? [] : [`${what} is wrong`];
    const held = Array.isArray(value) ? value : [value];
    return held.length === 0 ? [`${what} is empty`] : held.flatMap((one) => faultsOfElement(one, rule));
  });
  return [...missing, ...wrong];
}

function textsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  if ("type" in value && value.type === "TextRun") return [(value as unknown as { text: string }).text];
  return Object.values(value).flatMap(textsIn);
}
