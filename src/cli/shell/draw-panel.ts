import { stripVTControlCharacters } from "node:util";
import { groupDigits, groupThousands } from "../../ground/numbers/format-number.ts";
import { countOf } from "../../ground/text/count-of.ts";
import { sentence } from "../../ground/text/plain-text.ts";
import { relativeTime } from "../../ground/time/ages.ts";
import { isInstant, toSeconds, withAge } from "../../ground/time/time-format.ts";
import { type Card, type Cell, type Fact, isNothing, type Panel, type Section, type Tone } from "../../panels/panel.ts";
import { say } from "../../panels/sections.ts";
import { fitText, hangText, type Style, type StyleName, terminalLines, terminalText, wrapText } from "./output.ts";
import { typeCommand } from "./own-command.ts";
import { type Field, formatFields, formatTable } from "./table.ts";

interface Pen {
  /** Styles single words, since a text is broken between them. */
  style: Style;
  /** Columns. Absent: no limit. */
  width?: number;
  now: number;
  ownCommand: string;
  all?: boolean;
}

export function drawPanel(panel: Panel, { style, ...pen }: Pen): string {
  const byWords: Style = (name, text) => text.replace(/\S+/g, (word) => style(name, word));
  return `${drawSections(panel, { ...pen, style: byWords }).join("\n\n")}\n`;
}

const colours: Record<Tone, StyleName> = { good: "green", bad: "red", busy: "yellow", off: "dim" };

function drawSections(panel: Panel, pen: Pen): string[] {
  return sectionsOf(panel).flatMap((section) => {
    const { title } = section;
    const body = draw(section, pen).trimEnd();
    if (title === undefined) return body === "" ? [] : body;
    return `${pen.style("bold", prose(title, pen))}\n${body}`;
  });
}

const sectionsOf = (panel: Panel): Section[] =>
  panel.filter((section): section is Section => section !== false && section !== undefined && section.where !== "page");

function draw(section: Section, pen: Pen): string {
  switch (section.kind) {
    case "text":
      return prose(section.text, pen);
    case "facts":
      return drawRows(section.rows, pen);
    case "table": {
      const shown = section.columns.flatMap((column, index) => (column.where === "page" ? [] : [{ column, index }]));
      const columns = shown.map(({ column }) => ({ ...column, title: pen.style("bold", column.title) }));
      const rows = section.rows.map((row) => shown.map(({ index }) => write(row[index], pen)));
      return formatTable(columns, rows, pen.width);
    }
    case "list":
      return section.items.map((item) => prose([{ words: "- " }, item], pen, 2)).join("\n");
    case "note": {
      const colour = { done: "green", warning: "yellow", failed: "red" } as const;
      return pen.style(colour[section.note], prose(section.text, pen));
    }
    case "empty":
      return [
        pen.style("bold", prose([section.empty, { words: "." }], pen)),
        ...(isNothing(section.text) ? [] : [prose(section.text, pen)]),
      ].join("\n");
    case "cards":
      if (section.isOpen) {
        const asGroup = ({ name, panel }: Card): Section => ({ kind: "group", title: name, panel });
        return drawSections(section.cards.map(asGroup), pen).join("\n\n");
      }
      return drawRows(
        section.cards.map((card) => [nameOf(card, pen), lineOf(card)]),
        pen,
      );
    case "group":
      return drawSections(section.panel, pen).join("\n\n");
    case "block":
      return terminalLines(section.text);
    case "counts":
      return section.counts.map(({ count, words }) => `${groupThousands(count)} ${words}`).join(", ");
    case "messages": {
      const texts = section.texts.flatMap((text, index, { length }) => [
        ...(length > 1 ? [`  message ${index + 1} of ${length}`] : []),
        ...drawMessage(text, pen),
      ]);
      return [...section.to.map((cell) => prose(cell, pen, 2)), ...texts].join("\n");
    }
    case "fold":
      if (!pen.all)
        return prose(section.command === undefined ? "" : say`${section.summary}: ${{ code: section.command }}`, pen);
      return drawSections(section.panel, pen).join("\n\n");
    case "acts":
      return section.acts
        .flatMap((act) =>
          act && act.command !== undefined ? `${act.label}: ${typeCommand(act.command, pen.ownCommand)}` : [],
        )
        .join("\n");
    default:
      return section satisfies never;
  }
}

/** The most lines of a message that are shown without `--all`. */
const mostLines = 16;
const mostUnits = 1_200;

function drawMessage(text: string, { width, all }: Pen): string[] {
  const lines = text.split("\n");
  const isLong = !all && (lines.length > mostLines || text.length > mostUnits);
  const shown = isLong ? text.slice(0, mostUnits).split("\n").slice(0, mostLines) : lines;
  const room = (width ?? Number.POSITIVE_INFINITY) - 4;
  const bars = shown.flatMap((line) => wrapText(terminalText(line), room).map((part) => `  │ ${part}`.trimEnd()));
  return isLong ? [...bars, `  … ${countOf(text.length, "character")} in all: --messages shows them`] : bars;
}

/** The most columns for names: the longest name sets the width for all lines. */
const widestName = 40;

const nameOf = ({ name }: Card, pen: Pen) => fitText(stripVTControlCharacters(write(name, pen)), widestName);

/** `silent; last alert 3 h ago; quiet for 3 h. Alerts are too rare for auto.` */
function lineOf({ chip, tone = "off", when, also, panel }: Card): Cell {
  const line: Cell[] = [];
  if (also !== undefined) line.push(also, { words: ", " });
  if (chip !== undefined) line.push({ chip, tone }, when !== undefined && [{ words: " " }, when]);
  let isSentence = false;
  for (const section of sectionsOf(panel)) {
    if (section.kind === "text") {
      if (line.length > 0) line.push({ words: isSentence ? " " : ". " });
      line.push(section.text);
      isSentence = true;
    }
    if (section.kind !== "facts") continue;
    for (const [name, value] of section.rows) {
      if (isNothing(value)) continue;
      if (line.length > 0) line.push({ words: isSentence ? " " : "; " });
      line.push({ words: `${isSentence ? sentence(name) : name} ` }, value);
      isSentence = false;
    }
  }
  return line;
}

function drawRows(rows: readonly Fact[], pen: Pen): string {
  const fields = rows.flatMap(([name, value]): Field[] =>
    isNothing(value) ? [] : [[pen.style("bold", terminalText(name)), write(value, pen)]],
  );
  return formatFields(fields, pen.width);
}

function prose(cell: Cell, pen: Pen, indent = 0): string {
  return hangText(write(cell, pen), pen.width, indent);
}

/** The cell's text, from any author, made safe for a terminal. */
function write(cell: Cell, pen: Pen): string {
  const { now } = pen;
  if (cell === undefined || cell === false) return "";
  if (typeof cell === "number") return groupThousands(cell);
  if (typeof cell === "string") return terminalText(cell);
  if (Array.isArray(cell)) return cell.map((one) => write(one, pen)).join("");
  if ("words" in cell) return terminalText(cell.words);
  if (("at" in cell || "age" in cell) && cell.isComing && ("at" in cell ? cell.at : cell.age) <= now) return "now";
  if ("at" in cell) return withAge(cell.at, now);
  if ("age" in cell) return isInstant(cell.age) ? relativeTime(cell.age, now) : "an unknown time";
  if ("since" in cell) return isInstant(cell.since) ? `since ${withAge(cell.since, now)}` : "";
  if ("clock" in cell) return toSeconds(cell.clock);
  if ("amount" in cell) return terminalText([groupDigits(cell.amount), cell.unit].filter(Boolean).join(" "));
  if ("chip" in cell) return pen.style(colours[cell.tone], terminalText(cell.chip));
  if ("code" in cell) return terminalText(typeCommand(cell.code, pen.ownCommand));
  if ("bold" in cell) return pen.style("bold", write(cell.bold, pen));
  if ("lines" in cell) return cell.lines.map((one) => write(one, pen)).join("; ");
  return "act" in cell ? "" : write(cell.text, pen);
}
