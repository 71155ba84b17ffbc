import { createHash } from "node:crypto";
import type { AlertFacts, Translation } from "../core/alert.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import { readMetricKey } from "../core/metric-key.ts";
import { longestTitle } from "../core/title.ts";
import { type Leaves, listLeaves, looseLeaf } from "../facts/leaves.ts";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { countOf } from "../ground/text/count-of.ts";
import { cut } from "../ground/text/graphemes.ts";
import { contains, toPlainText } from "../ground/text/plain-text.ts";
import { composeFacts, type FoundFacts, findFacts, type SourceNaming } from "./find/find-facts.ts";
import { inheritEnvelope, limitEnvelope } from "./find/inherit-envelope.ts";
import { listFields, namesQuantity } from "./find/list-fields.ts";
import { headlineOfText, makeHeadline, maxTextLength, noteOfCut } from "./find/make-title.ts";
import { type CompiledMapping, findMapped } from "./find/mapped-facts.ts";
import { addMeasurement, readMeasurement } from "./find/read-measurement.ts";
import { findLink, findMetricKey } from "./find/read-value.ts";
import { describeWord, type ShapeReader } from "./find/shape.ts";
import { deriveAlertKey, keyLeaves } from "./key/alert-key.ts";
import { batchNamesItself, namesItself } from "./key/names-itself.ts";
import { type BodyContent, readRequest } from "./read/read-request.ts";
import { type Content, listContent } from "./read/unwrap-payload.ts";

export interface ReadingOptions {
  /** Tried before facts are guessed, in JSON and forms. */
  mapping?: CompiledMapping;
  /** Default: shapes are not read. */
  shapes?: ShapeReader;
  /** The source whose hook got the body. Default: the account's hook, without other sources. */
  naming?: SourceNaming;
}

/** At least one translation, `countAlerts` of them. Pure, linear, never throws: unreadable bodies are described. */
export function translateRequest(
  body: Uint8Array,
  contentType: string | undefined,
  options: ReadingOptions = {},
): Translation[] {
  const translations = translateAlerts(body, contentType, options);
  const source = options.naming?.is;
  if (source === undefined) return translations;
  for (const translation of translations) {
    const { facts } = translation;
    // Two senders may use the same key for two things.
    translation.facts = { ...facts, source, alertKey: `${source}/${facts.alertKey}` };
  }
  return translations;
}

function translateAlerts(body: Uint8Array, contentType: string | undefined, options: ReadingOptions): Translation[] {
  const request = readRequest(body, contentType).content();
  if (request.kind === "single") {
    const translation = translateBody(request.body, body, options);
    translation.facts = nameUnsplit(translation.facts, request.unsplit);
    return [translation];
  }
  const { items } = request;
  const isNamed = batchNamesItself(items, request.envelope);
  const shared = request.envelope === undefined ? undefined : limitEnvelope(request.envelope, items.length);
  const notes = [...request.notes, ...(shared?.notes ?? [])];
  const context = { format: "json", notes, inBatch: true, options } as const;
  return items.map((item) => {
    const payload = inheritEnvelope(item, shared?.envelope);
    const { facts, mapped, shape } = translatePayload(payload, listContent(payload), context);
    return { facts, payload, namesItself: isNamed, mapped, shape };
  });
}

/** Adds the number of alerts to the title. The first of thousands must not look like the only one. */
function nameUnsplit(facts: AlertFacts, count: number | undefined): AlertFacts {
  if (count === undefined) return facts;
  const title = `${groupThousands(count)} alerts in one request, the first: ${facts.title}`;
  return { ...facts, title: cut(title, longestTitle) };
}

function translateBody(content: BodyContent, body: Uint8Array, options: ReadingOptions): Translation {
  const { format, notes } = content;
  switch (format) {
    case "json":
    case "form": {
      const { value } = content;
      const found = listContent(value);
      const { facts, mapped, shape } = translatePayload(value, found, { format, notes, options });
      // Member by member: a spread costs a tenth of the whole.
      return { facts, payload: value, namesItself: namesItself(value, found.leaves), mapped, shape };
    }
    case "broken-json":
      return translateBroken(content.found, content.text, notes, options);
    case "text": {
      const { elements, text } = readXml(content.text);
      if (elements === undefined) return { facts: translateText(text, notes) };
      const context = { format, notes, options: { naming: options.naming } };
      return { facts: translatePayload(elements, listContent(elements), context).facts };
    }
    case "binary": {
      const title = `Alert (binary body: ${content.what}, ${countOf(body.length, "byte")})`;
      return {
        facts: describe(title, "binary", `binary:${createHash("sha256").update(body).digest("hex")}`, notes),
      };
    }
    case "empty":
      return { facts: describe("Alert (empty body)", "empty", "empty:body", notes) };
    default:
      return content satisfies never;
  }
}

interface PayloadContext {
  options: ReadingOptions;
  /** `text`: for XML. */
  format: "json" | "form" | "text" | "broken-json";
  notes: string[];
  inBatch?: boolean;
  /** The whole body, where the payload is only a part. Shown below the sender's text. */
  whole?: string;
}

function translatePayload(payload: Json, content: Content, context: PayloadContext): Translation {
  const { leaves } = content;
  const bare = leaves.length === 1 && leaves[0]?.path.length === 0 ? leaves[0] : undefined;
  if (bare?.kind === "string") return { facts: { ...translateText(bare.text, context.notes), format: context.format } };
  const nothing = context.format === "broken-json" ? "broken JSON" : nameOfEmpty(payload);
  const { inBatch = false } = context;
  const { mapping, shapes, naming } = context.options;
  const places = mapping && findMapped(mapping, payload, content.content, leaves);
  const found = findFacts(leaves, places, naming, mapping?.severities);
  const facts = toFacts(found, content, context, `Alert (${nothing})`);
  const shape = shapes?.shapeOf(content, found.reads, () => keyLeaves({ leaves, found, inBatch }));
  if (shape !== undefined && found.unreadSeverity !== undefined) shape.newWord = describeWord(found.unreadSeverity);
  return { facts, mapped: found.mapped, shape };
}

function toFacts(found: FoundFacts, { leaves, more }: Leaves, context: PayloadContext, otherwise: string): AlertFacts {
  const { notes, used, valueLeaf } = found;
  const headline = makeHeadline(found, leaves, otherwise);
  const text = appendWhole(headline.text, context.whole);
  const texts = [headline.title, text];
  const named = valueLeaf !== undefined && namesQuantity(valueLeaf, texts) ? valueLeaf : undefined;
  const list = listFields(leaves, { used, unless: named, texts }, more);
  const inBatch = context.inBatch ?? false;
  const isSent = found.title !== undefined || found.text !== undefined;
  const measured = isSent ? readMeasurement(headline.title) : undefined;
  return composeFacts(found, addMeasurement(found, measured), {
    title: headline.title,
    format: context.format,
    text,
    alertKey: deriveAlertKey({ leaves, found, title: headline.title, text, measured, inBatch }),
    fields: list.fields,
    unlistedFields: list.unlistedFields,
    notes: [...context.notes, ...notes, ...headline.notes, ...list.notes],
  });
}

/** Shows the whole body as it came, since the saved part is partly a guess. */
function translateBroken(
  found: JsonObject | undefined,
  text: string,
  notes: string[],
  { mapping, naming }: ReadingOptions,
): Translation {
  if (found === undefined) return { facts: { ...translateText(text, notes), format: "broken-json" } };
  const { length } = text.trim();
  const all = length > maxTextLength ? [...notes, noteOfCut(length)] : notes;
  const context = { format: "broken-json", notes: all, whole: text, options: { mapping, naming } } as const;
  return translatePayload(found, listContent(found), context);
}

function appendWhole(text: string | undefined, whole: string | undefined): string | undefined {
  if (whole === undefined) return text;
  const shown = cut(toPlainText(whole), maxTextLength);
  return text === undefined || contains(shown, text) ? shown : cut(`${text}\n\n${shown}`, maxTextLength);
}

function nameOfEmpty(payload: Json): string {
  if (payload === null) return "JSON null";
  if (Array.isArray(payload)) return "empty JSON list";
  return isJsonObject(payload) ? "empty JSON object" : "empty JSON text";
}

function describe(title: string, format: AlertFacts["format"], alertKey: string, notes: string[]): AlertFacts {
  return { title, severity: "unknown", status: "unknown", format, alertKey, fields: [], notes };
}

const maxLines = 200;

/** The first line is the title. All of it is shown, so `Name: value` lines give facts and no fields. */
function translateText(sent: string, notes: string[]): AlertFacts {
  const whole = toPlainText(sent);
  const { title, text, notes: cuts } = headlineOfText(whole);
  const measured = readMeasurement(title);
  // "ETH price: 4012 (above 4000)" looks like a `Name: value` line and is a sentence.
  const [sentence = ""] = measured === undefined ? [] : whole.split("\n", 1);
  const { leaves } = listLeaves(readLines(whole.slice(sentence.length)));
  // The title is last, so that a leading "[CRITICAL]" counts only when no line names a severity.
  const found = findFacts([...leaves, looseLeaf("title", title)]);
  found.title = title;
  found.text = text;
  found.metric ??= findMetricKey(whole);
  const parts = found.metric === undefined ? undefined : readMetricKey(found.metric);
  found.chain ??= parts?.chain;
  found.token ??= parts?.kind === "token" ? parts.address : undefined;
  found.link ??= findLink(whole);
  return composeFacts(found, addMeasurement(found, measured), {
    title,
    format: "text",
    text,
    alertKey: deriveAlertKey({ leaves, found, title, text, measured, inBatch: false }),
    fields: [],
    notes: [...notes, ...found.notes, ...cuts],
  });
}

/** The `Name: value` and `name = value` lines of a text. A name is one to four words at a line's beginning. */
export function readLines(text: string): JsonObject {
  const pairs = Object.create(null) as JsonObject;
  for (const line of text.split("\n", maxLines)) {
    const match = /^[^\p{L}\n]{0,8}(\p{L}[\w-]{0,30}(?: [\w-]{1,20}){0,3})\s{0,10}[:=]\s{0,10}(\S.{0,500})$/u.exec(
      line.slice(0, 600),
    );
    if (match === null) continue;
    const [, name = "", value = ""] = match;
    // "https://…" is no pair, and the first mention counts.
    if (!value.startsWith("//") && pairs[name] === undefined) pairs[name] = value.trim();
  }
  return pairs;
}

const maxElements = 200;
const declaration = /^\s{0,100}<\?xml\s[^<>]{0,200}\?>\s{0,100}/;
const element = /<(?:[\w.-]{1,80}:)?([A-Za-z_][\w.-]{0,80})(?:\s[^<>]{0,1000})?>([^<]{1,20000})<\//g;
const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

/** The XML elements that contain only text, the first of each name. Undefined without a declaration or such an element. */
function readXml(sent: string): { elements?: JsonObject; text: string } {
  const text = sent.replace(declaration, "");
  if (text.length === sent.length) return { text };
  const elements = Object.create(null) as JsonObject;
  let count = 0;
  for (const [, name = "", value = ""] of text.matchAll(element)) {
    if (value.trim() === "" || elements[name] !== undefined) continue;
    elements[name] = value.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity] ?? "").trim();
    count += 1;
    if (count === maxElements) break;
  }
  return count === 0 ? { text } : { elements, text };
}
