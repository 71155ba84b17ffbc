import {
  type Card,
  type Cell,
  type Fact,
  isNothing,
  type Panel,
  type Section,
  sentence,
  type Tone,
} from "../../contract/panels/panel.ts";
import { groupDigits } from "../../ground/numbers/format-number.ts";
import { isInstant } from "../../ground/time/time-format.ts";
import { countOf, describeAge, toSeconds, withAge } from "./amounts.ts";
import { joinSections, type Output, type StyleName } from "./output.ts";
import type { Field, TableColumn } from "./table.ts";
import { fitText, hangText, terminalText, wrapText } from "./terminal-text.ts";

/** A panel as text for people. `all`: with what is folded away otherwise. */
export function drawPanel(panel: Panel, output: Output, now: number, { all = false } = {}): string {
  return joinSections(drawSections(panel, { output, now, all }));
}

/** A list of facts alone. */
export function drawFacts(output: Output, now: number, rows: readonly Fact[]): string {
  return drawPanel([{ kind: "facts", rows }], output, now);
}

interface Pen {
  output: Output;
  now: number;
  all: boolean;
}

const colours: Record<Tone, StyleName> = { good: "green", bad: "red", busy: "yellow", off: "dim" };

function drawSections(panel: Panel, pen: Pen): string[] {
  return sectionsOf(panel).flatMap((section) => {
    const { title } = section;
    const body = draw(section, pen).trimEnd();
    if (title === undefined) return body === "" ? [] : body;
    return `${pen.output.style("bold", prose(title, pen))}\n${body}`;
  });
}

const sectionsOf = (panel: Panel): Section[] =>
  panel.filter((section): section is Section => section !== false && section !== undefined && section.where !== "page");

function draw(section: Section, pen: Pen): string {
  const { output } = pen;
  switch (section.kind) {
    case "text":
      return prose(section.text, pen);
    case "facts":
      return output.fields(fieldsOf(section.rows, pen));
    case "table": {
      const shown = section.columns.flatMap((column, index) => (column.where === "page" ? [] : [{ column, index }]));
      const columns = shown.map(({ column, index }): TableColumn => {
        const chips = section.rows.flatMap((row) => chipsOf(row[index]));
        return { ...column, style: (line) => paint(line, chips, output) };
      });
      const rows = section.rows.map((row) => shown.map(({ index }) => plain(row[index], pen)));
      return output.table(columns, rows);
    }
    case "list":
      return section.items.map((item) => prose([{ words: "- " }, item], pen, 2)).join("\n");
    case "note": {
      const colour = { done: "green", warning: "yellow", failed: "red" } as const;
      return output.style(colour[section.note], prose(section.text, pen));
    }
    case "empty":
      return [
        output.style("bold", prose([section.empty, { words: "." }], pen)),
        ...(isNothing(section.text) ? [] : [prose(section.text, pen)]),
      ].join("\n");
    case "cards":
      if (section.isOpen) {
        const asGroup = ({ name, panel }: Card): Section => ({ kind: "group", title: name, panel });
        return drawSections(section.cards.map(asGroup), pen).join("\n\n");
      }
      return output.fields(
        fieldsOf(
          section.cards.map((card) => [nameOf(card, pen), lineOf(card)]),
          pen,
        ),
      );
    case "group":
      return drawSections(section.panel, pen).join("\n\n");
    case "block":
      return section.text.split("\n").map(terminalText).join("\n");
    case "counts":
      return section.counts.map(({ count, words }) => `${count.toLocaleString("en-US")} ${words}`).join(", ");
    case "messages": {
      const texts = section.texts.flatMap((text, index, { length }) => [
        ...(length > 1 ? [`  message ${index + 1} of ${length}`] : []),
        ...drawMessage(text, pen),
      ]);
      return [...section.to.map((cell) => prose(cell, pen, 2)), ...texts].join("\n");
    }
    case "fold":
      if (!pen.all)
        return prose(section.command === undefined ? "" : [section.summary, { words: `: ${section.command}` }], pen);
      return drawSections(section.panel, pen).join("\n\n");
    case "acts":
      return section.acts
        .flatMap((act) => (act && act.command !== undefined ? output.asTyped(`${act.label}: ${act.command}`) : []))
        .join("\n");
    default:
      return section satisfies never;
  }
}

/** Of a message: more is for those who ask for it. */
const mostLines = 16;
const mostUnits = 1_200;

function drawMessage(text: string, { output, all }: Pen): string[] {
  const lines = text.split("\n");
  const isLong = !all && (lines.length > mostLines || text.length > mostUnits);
  const shown = isLong ? text.slice(0, mostUnits).split("\n").slice(0, mostLines) : lines;
  const room = (output.width ?? Number.POSITIVE_INFINITY) - 4;
  const bars = shown.flatMap((line) => wrapText(terminalText(line), room).map((part) => `  │ ${part}`.trimEnd()));
  return isLong ? [...bars, `  … ${countOf(text.length, "character")} in all: --messages shows them`] : bars;
}

/** Columns: the longest name makes the place of all lines. */
const widestName = 40;

const nameOf = ({ name }: Card, pen: Pen) => fitText(terminalText(plain(name, pen)), widestName);

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

function fieldsOf(rows: readonly Fact[], pen: Pen): Field[] {
  return rows.flatMap(([name, value]): Field[] =>
    isNothing(value) ? [] : [[name, plain(value, pen), (text) => paint(text, chipsOf(value), pen.output)]],
  );
}

type Chip = Extract<Cell, { chip: string }>;

function chipsOf(cell: Cell): Chip[] {
  if (typeof cell !== "object") return [];
  if (Array.isArray(cell)) return cell.flatMap(chipsOf);
  return "chip" in cell ? [cell] : [];
}

/** Colours the chip that a cell begins with. */
function paint(text: string, chips: readonly Chip[], { style }: Output): string {
  const found = chips.find(({ chip }) => text.startsWith(chip));
  return found === undefined ? text : style(colours[found.tone], found.chip) + text.slice(found.chip.length);
}

/** Broken between words where the terminal ends. */
function prose(cell: Cell, pen: Pen, indent = 0): string {
  return hangText(write(cell, pen, terminalText, pen.output.style), pen.output.width, indent);
}

/** Without colours: a table and a list of facts make it safe by themselves. */
const plain = (cell: Cell, pen: Pen): string =>
  write(
    cell,
    pen,
    (text) => text,
    (_, text) => text,
  );

function write(cell: Cell, pen: Pen, safe: (text: string) => string, style: Output["style"]): string {
  if (cell === undefined || cell === false) return "";
  if (typeof cell === "number") return cell.toLocaleString("en-US");
  if (typeof cell === "string") return safe(cell);
  if (Array.isArray(cell)) return cell.map((one) => write(one, pen, safe, style)).join("");
  if ("words" in cell) return pen.output.asTyped(cell.words);
  if (("at" in cell || "age" in cell) && cell.isComing && ("at" in cell ? cell.at : cell.age) <= pen.now) return "now";
  if ("at" in cell) return withAge(cell.at, pen.now);
  if ("age" in cell) return isInstant(cell.age) ? describeAge(cell.age, pen.now) : "an unknown time";
  if ("since" in cell) return isInstant(cell.since) ? `since ${withAge(cell.since, pen.now)}` : "";
  if ("clock" in cell) return toSeconds(cell.clock);
  if ("amount" in cell) return safe([groupDigits(cell.amount), cell.unit].filter(Boolean).join(" "));
  if ("chip" in cell) return style(colours[cell.tone], safe(cell.chip));
  if ("code" in cell) return safe(pen.output.asTyped(cell.code));
  if ("bold" in cell) return style("bold", write(cell.bold, pen, safe, style));
  if ("lines" in cell) return cell.lines.map((one) => write(one, pen, safe, style)).join("; ");
  return "act" in cell ? "" : write(cell.text, pen, safe, style);
}
