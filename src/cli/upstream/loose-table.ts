import type { Output } from "../shell/output.ts";
import { layOutTable } from "../shell/table.ts";
import { terminalText } from "../shell/terminal-text.ts";

const leading = ["id", "key", "symbol", "name", "chainId", "chain", "address"];
/** What is copied into the next command is never cut. */
const copied = /(^|\.)(id|key|address)$|(Id|Key|Address)$/;

/**
 * A table of objects whose fields nobody documents, page by page. Columns are the fields that any item of the first page has a
 * value for, nested ones as `outer.inner`, the usual names first. What is returned draws the next page.
 */
export function createLooseTable({ style, width }: Pick<Output, "style" | "width">) {
  let draw: ((items: readonly object[]) => string) | undefined;
  return (items: readonly object[]): string => {
    if (draw !== undefined || items.length === 0) return draw?.(items) ?? "";
    const values = items.flatMap((item) => flatten(item)).filter(([, value]) => value !== null && value !== undefined);
    const textual = new Set(values.flatMap(([name, value]) => (typeof value === "number" ? [] : name)));
    const names = [...new Set(values.map(([name]) => name))].sort((a, b) => rank(a) - rank(b));
    const toRows = (page: readonly object[]) =>
      page.map((item) => {
        const cells = new Map(flatten(item));
        return names.map((name) => terminalText(cellText(cells.get(name))));
      });
    const columns = names.map((name) => ({
      title: style("bold", terminalText(name)),
      align: textual.has(name) ? ("left" as const) : ("right" as const),
      keep: copied.test(name),
    }));
    const layout = layOutTable(columns, toRows(items), width);
    draw = (page) => layout.rows(toRows(page));
    return layout.head() + draw(items);
  };
}

/** Nested objects become dotted names, three levels deep; what is deeper, and lists, are one value. */
function flatten(item: object, prefix = "", depth = 0): [string, unknown][] {
  return Object.entries(item).flatMap(([name, value]): [string, unknown][] => {
    const isNested = typeof value === "object" && value !== null && !Array.isArray(value) && depth < 2;
    return isNested ? flatten(value, `${prefix}${name}.`, depth + 1) : [[prefix + name, value]];
  });
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((element) => typeof element !== "object")) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function rank(name: string): number {
  const path = name.split(".");
  const place = leading.indexOf(path.at(-1) ?? "");
  return (place === -1 ? leading.length : place) + (path.length - 1) * (leading.length + 1);
}
