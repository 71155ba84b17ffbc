import type { Output } from "../shell/output.ts";
import type { TableColumn } from "../shell/table.ts";

/** A table of objects whose fields nobody documents: the columns are those that are there. */
export interface LooseTable {
  columns: TableColumn[];
  toRow(item: object): string[];
}

const leading = ["id", "key", "symbol", "name", "chainId", "chain", "address"];
/** What is copied into the next command is never cut. */
const copied = /(^|\.)(id|key|address)$|(Id|Key|Address)$/;

/**
 * Columns are the fields that any item of `sample` has a value for, nested ones as `outer.inner`, the usual names
 * first.
 */
export function layOutLooseTable(sample: readonly object[]): LooseTable {
  const names = new Set<string>();
  const textual = new Set<string>();
  for (const item of sample) {
    for (const [name, value] of flatten(item)) {
      if (value === null || value === undefined) continue;
      names.add(name);
      if (typeof value !== "number") textual.add(name);
    }
  }
  const ordered = [...names].sort((a, b) => rank(a) - rank(b));
  return {
    columns: ordered.map((name) => ({
      title: name,
      align: textual.has(name) ? "left" : "right",
      keep: copied.test(name),
    })),
    toRow: (item) => {
      const values = new Map(flatten(item));
      return ordered.map((name) => cellText(values.get(name)));
    },
  };
}

/** All items as one table; empty when there are none. */
export function formatLooseTable(items: readonly object[], output: Pick<Output, "table">): string {
  if (items.length === 0) return "";
  const { columns, toRow } = layOutLooseTable(items);
  return output.table(columns, items.map(toRow));
}

/** Nested objects become dotted names, three levels deep; what is deeper, and lists, are one value. */
function flatten(item: object, prefix = "", depth = 0): [string, unknown][] {
  return Object.entries(item).flatMap(([name, value]): [string, unknown][] => {
    const path = prefix + name;
    return isPlainObject(value) && depth < 2 ? flatten(value, `${path}.`, depth + 1) : [[path, value]];
  });
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((element) => typeof element !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function rank(name: string): number {
  const place = leading.indexOf(name.split(".").at(-1) ?? "");
  const depth = name.split(".").length - 1;
  return (place === -1 ? leading.length : place) + depth * (leading.length + 1);
}

function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
