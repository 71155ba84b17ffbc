import type { AlertFacts, AlertField } from "../../core/alert.ts";
import { type Leaf, lineOf, perPlace } from "../../facts/leaves.ts";
import { withoutWrappers } from "../../facts/usual-names.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { cut } from "../../ground/text/graphemes.ts";
import { toPlainLine } from "../../ground/text/plain-text.ts";

const maxFields = 40;
const maxFieldValueLength = 500;
const maxFieldNameLength = 80;

/** Names that only programs use. They are left out of the field list. */
const machineNames = new Set(["fingerprint", "groupkey", "truncatedalerts", "color", "specversion", "datacontenttype"]);

/**
 * The short field list: every leaf that is not shown as a fact, in the payload's order, under the shortest unique path.
 * When there are more than 40, the outermost are kept. A credential is named and not shown, because the list goes to chats.
 */
export function listFields(
  leaves: Leaf[],
  said: { used: Set<Leaf>; unless: Leaf | undefined; texts: (string | undefined)[] },
  more: number,
): Pick<AlertFacts, "fields" | "unlistedFields" | "notes"> {
  const texts = new Set(said.texts.map((text) => toPlainLine(text ?? "")));
  const remaining = leaves.filter(
    (leaf) => (!said.used.has(leaf) || leaf === said.unless) && !texts.has(lineOf(leaf)) && !saysNothing(leaf),
  );
  const kept = keepOutermost(remaining);
  const taken = new Set<string>();
  let cutValues = 0;
  let hidden = 0;
  const fields = kept.map((leaf): AlertField => {
    const name = nameOf(leaf, taken);
    taken.add(name);
    if (isCredential(leaf)) {
      hidden += 1;
      return { name, value: "(not shown)" };
    }
    const value = lineOf(leaf);
    if (value.length > maxFieldValueLength) cutValues += 1;
    return { name, value: cut(value, maxFieldValueLength) };
  });
  const left = remaining.length - kept.length + more;
  const notes = [
    left === 0 ? "" : `${countOf(left, "more field is", "more fields are")} only in the raw body`,
    cutValues === 0 ? "" : `${cutValues === 1 ? "one long field is" : `${cutValues} long fields are`} cut`,
    hidden === 0
      ? ""
      : `${hidden === 1 ? "one field is" : `${hidden} fields are`} not shown because the name says it is a credential`,
  ];
  return { fields, unlistedFields: left === 0 ? undefined : left, notes: notes.filter((note) => note !== "") };
}

/** Trading scripts authenticate a webhook by `passphrase`. A chat should not show an `apiKeyHash` either. */
export const isCredential = perPlace(({ names }) =>
  /passw|passphrase|secret|apikey|privatekey|authorization|credential|accesstoken|authtoken|bearer|mnemonic|seedphrase/.test(
    names.at(-1) ?? "",
  ),
);

/** Whether only the value's own name says what it measures ("price"): "91000.5" alone puzzles. */
export function namesQuantity(leaf: Leaf, texts: (string | undefined)[]): boolean {
  const quantity = /price|tvl|volume|amount/.exec(leaf.names.at(-1) ?? "")?.[0];
  return quantity !== undefined && !texts.some((one) => one?.toLowerCase().includes(quantity));
}

const isForMachines = perPlace(({ names }) => machineNames.has(names.at(-1) ?? ""));

/** Go's zero time means "not yet". */
function saysNothing(leaf: Leaf): boolean {
  return isForMachines(leaf) || leaf.text === "0001-01-01T00:00:00Z";
}

function keepOutermost(leaves: Leaf[]): Leaf[] {
  if (leaves.length <= maxFields) return leaves;
  const outermost = new Set(leaves.toSorted((a, b) => a.path.length - b.path.length).slice(0, maxFields));
  return leaves.filter((leaf) => outermost.has(leaf));
}

/** A place's name in the list. The longer one is used when the short one is taken. */
const fieldNamesOf = perPlace(({ path }) => {
  const short = joinPath(withoutWrappers(path));
  return { short, shown: showName(short), whole: showName(joinPath(path)) };
});

function nameOf(leaf: Leaf, taken: Set<string>): string {
  const { short, shown, whole } = fieldNamesOf(leaf);
  return taken.has(short) ? whole : shown;
}

function showName(name: string): string {
  return cut(toPlainLine(name) || "value", maxFieldNameLength);
}

function joinPath(path: string[]): string {
  return path.reduce(
    (joined, part) => (part.startsWith("[") || joined === "" ? joined + part : `${joined}.${part}`),
    "",
  );
}
