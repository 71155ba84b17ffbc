import type { Child, PropsWithChildren } from "hono/jsx";
import { groupThousands } from "../../ground/numbers/format-number.ts";
import { sentence } from "../../ground/text/plain-text.ts";
import {
  type Action,
  type Card,
  type Cell,
  type Choices,
  type Input,
  isNothing,
  type Panel,
  type Section,
} from "../../panels/panel.ts";
import type { Frame } from "../web-env.ts";
import { Amount } from "./alert-text.tsx";
import { Chip } from "./delivery-chips.tsx";
import { Field, Form, Hidden } from "./form-element.tsx";
import { ClockTime, Instant, Since } from "./instants.tsx";
import { Notice } from "./layout.tsx";
import { LongBox } from "./long-box.tsx";

const mostShown = 200;

interface PanelProps {
  panel: Panel;
  frame: Frame;
  /** The heading level for cards without a heading above them. Default 2. */
  level?: 2 | 3;
}

export function PanelView({ panel, frame, level = 2 }: PanelProps) {
  return (
    <>
      {panel.map((section) => {
        if (!section || section.where === "terminal") return null;
        const { title, id, live } = section;
        const body = <Body section={section} frame={frame} level={title === undefined ? level : 3} />;
        const part =
          title === undefined ? (
            body
          ) : (
            <section aria-labelledby={id}>
              <h2 id={id}>{textOf(title, frame)}</h2>
              {body}
            </section>
          );
        return live === undefined ? part : <div data-live={live}>{part}</div>;
      })}
    </>
  );
}

function Body({ section, frame, level }: { section: Section; frame: Frame; level: 2 | 3 }) {
  const text = (cell: Cell) => textOf(cell, frame);
  switch (section.kind) {
    case "text":
      return <p class={section.isSoft ? "soft" : undefined}>{text(section.text)}</p>;
    case "facts":
      return (
        <dl class="facts">
          {section.rows.map(
            ([name, value]) =>
              !isNothing(value) && (
                <>
                  <dt>{sentence(name)}</dt>
                  <dd>{text(value)}</dd>
                </>
              ),
          )}
        </dl>
      );
    case "table":
      return <Table section={section} text={text} />;
    case "list":
      return (
        <>
          <ul>
            {section.items.slice(0, mostShown).map((item) => (
              <li>{text(item)}</li>
            ))}
          </ul>
          <More all={section.items.length} />
        </>
      );
    case "note":
      return <Notice kind={section.note}>{text(section.text)}</Notice>;
    case "empty":
      return (
        <div class="empty">
          <h2>{text(section.empty)}</h2>
          {!isNothing(section.text) && <p>{text(section.text)}</p>}
        </div>
      );
    case "cards":
      return (
        <>
          {!isNothing(section.intro) && <p class="soft">{text(section.intro)}</p>}
          <div class="cards">
            {section.cards.map((card) => (
              <CardView card={card} frame={frame} level={level} />
            ))}
          </div>
        </>
      );
    case "group": {
      const panel = <PanelView panel={section.panel} frame={frame} level={level} />;
      return section.isTrouble ? <div class="trouble">{panel}</div> : panel;
    }
    case "block":
      return <Block {...section} />;
    case "counts":
      return (
        <ul class="counts">
          {section.counts.map(({ count, words, tone, link }) => (
            <li class={tone}>
              <a href={link}>
                <b>{groupThousands(count)}</b> {words}
              </a>
            </li>
          ))}
        </ul>
      );
    case "messages":
      return <Messages section={section} text={text} />;
    case "fold":
      return (
        <details id={section.id}>
          <summary>{text(section.summary)}</summary>
          <PanelView panel={section.panel} frame={frame} level={level} />
        </details>
      );
    case "acts": {
      const isChoice = section.acts.some((act) => (act ? act.isCurrent : false));
      return (
        <div class={isChoice ? "views" : "row"}>
          {section.acts.map((act) => act && <Act act={act} frame={frame} />)}
        </div>
      );
    }
    default:
      return section satisfies never;
  }
}

/** HTML drops the line break at the start of a `pre`. Bytes keep their columns and scroll. */
function Block({ text, blockId, isBytes, canCopy }: Extract<Section, { kind: "block" }>) {
  const block = <pre id={blockId}>{`\n${text}`}</pre>;
  return (
    <>
      {canCopy && (
        <p>
          <button type="button" data-copy={blockId} hidden>
            Copy
          </button>
        </p>
      )}
      <LongBox name={`the ${blockId ?? "text"}`} text={text}>
        {isBytes ? (
          <section class="bytes" aria-label="Bytes" tabindex={0}>
            {block}
          </section>
        ) : (
          block
        )}
      </LongBox>
    </>
  );
}

function Messages({ section, text }: { section: Extract<Section, { kind: "messages" }>; text(cell: Cell): Child }) {
  const heads = section.to.map((cell, index) => (
    <>
      {index > 0 && <br />}
      {text(cell)}
    </>
  ));
  if (section.texts.length === 0) return <p>{heads}</p>;
  return (
    <details>
      <summary>{heads}</summary>
      {section.texts.map((one, index, { length }) => (
        <>
          {length > 1 && <p class="soft">{`Part ${index + 1} of ${length}`}</p>}
          <LongBox name={`part ${index + 1} of the message to ${section.to.map(nameIn).join(", ")}`} text={one}>
            <pre dir="auto">{`\n${one}`}</pre>
          </LongBox>
        </>
      ))}
    </details>
  );
}

function nameIn(cell: Cell): string {
  if (Array.isArray(cell)) return cell.map(nameIn).join("");
  if (typeof cell !== "object") return cell ? String(cell) : "";
  return "bold" in cell ? nameIn(cell.bold) : "words" in cell ? cell.words : "";
}

function Table({ section, text }: { section: Extract<Section, { kind: "table" }>; text(cell: Cell): Child }) {
  const { columns, rows, ids } = section;
  const shown = columns.flatMap((column, index) =>
    column.where === "terminal" || (column.optional && rows.every((row) => isNothing(row[index])))
      ? []
      : [{ ...column, index }],
  );
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            {shown.map(({ title, align }) => (
              <th scope="col" class={align === "right" ? "number" : undefined}>
                {sentence(title)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, mostShown).map((row, at) => (
            <tr id={ids?.[at]}>
              {shown.map(({ title, align, keep, index }, place) => (
                <td
                  class={align === "right" ? "number" : keep ? "keep" : undefined}
                  data-says={place === 0 || saysItself(row[index]) ? undefined : title}
                >
                  {!isNothing(row[index]) && text(row[index])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <More all={rows.length} />
    </div>
  );
}

/** Whether the cell needs no title before it on a phone. */
function saysItself(cell: Cell): boolean {
  if (Array.isArray(cell)) return cell.some(saysItself);
  return typeof cell === "object" && ("act" in cell || "chip" in cell || "lines" in cell);
}

const More = ({ all }: { all: number }) =>
  all > mostShown ? <p>And {groupThousands(all - mostShown)} more: the API has all of them.</p> : null;

type CardProps = PropsWithChildren<{ card: Card; frame: Frame; level: 2 | 3 }>;

export function CardView({ card, frame, level, children }: CardProps) {
  const { name, id, chip, tone = "off", when, also, panel } = card;
  const text = (cell: Cell) => textOf(cell, frame);
  const Title = `h${level}` as const;
  return (
    <article class={`card ${tone}`} id={id}>
      <header>
        <Title>{text(name)}</Title>
        <span class="row">
          {also && text(also)}
          {chip !== undefined && (
            <Chip tone={tone}>
              {chip}
              {!isNothing(when) && <> {text(when)}</>}
            </Chip>
          )}
        </span>
      </header>
      <PanelView panel={panel} frame={frame} level={3} />
      {children}
    </article>
  );
}

/** Instants are relative to the frame's `now`. */
export const Text = ({ cell, frame }: { cell: Cell; frame: Frame }) => <>{textOf(cell, frame)}</>;

/** Without an element for each cell: a page has hundreds. */
function textOf(cell: Cell, frame: Frame): Child {
  const { now } = frame;
  const text = (one: Cell) => textOf(one, frame);
  if (cell === undefined || cell === false || cell === "") return null;
  if (typeof cell === "number") return groupThousands(cell);
  if (typeof cell === "string") return <bdi>{cell}</bdi>;
  if (Array.isArray(cell)) return cell.map(text);
  if ("words" in cell) return cell.words;
  if ("at" in cell) return <Instant at={cell.at} now={now} isComing={cell.isComing} />;
  if ("age" in cell) return <Instant at={cell.age} now={now} show="relative" isComing={cell.isComing} />;
  if ("since" in cell) return <Since at={cell.since} now={now} />;
  if ("clock" in cell) return <ClockTime at={cell.clock} />;
  if ("amount" in cell) return <Amount sent={cell.amount} unit={cell.unit} />;
  if ("chip" in cell) return <Chip tone={cell.tone}>{cell.chip}</Chip>;
  if ("code" in cell) return <code>{cell.code}</code>;
  if ("bold" in cell) return <b>{text(cell.bold)}</b>;
  if ("act" in cell) return <Act act={cell.act} frame={frame} />;
  if ("lines" in cell) return <Lines lines={cell.lines.map(text)} />;
  return <Link to={cell.link}>{text(cell.text)}</Link>;
}

/** A link to another site has its whole address as its text. */
function Link({ to, children }: PropsWithChildren<{ to: string }>) {
  if (!/^https?:/i.test(to)) return <a href={to}>{children}</a>;
  return (
    <a href={to} rel="noopener noreferrer nofollow" target="_blank" dir="ltr">
      {children}
    </a>
  );
}

/** The most lines in sight: the last ones. The others are folded away. */
const mostLines = 6;

function Lines({ lines }: { lines: Child[] }) {
  const apart = (some: Child[]) => some.map((line, index) => (index === 0 ? line : [<br />, line]));
  const folded = lines.length > mostLines ? lines.length - mostLines + 1 : 0;
  return (
    <>
      {folded > 0 && (
        <details>
          <summary>{folded} before</summary>
          {apart(lines.slice(0, folded))}
        </details>
      )}
      {apart(lines.slice(folded))}
    </>
  );
}

export function Act({ act, frame }: { act: Action; frame: Frame }) {
  const { label, about, post, link, isButton, isCurrent, fields = {}, inputs = [], isMain, orElse, asks } = act;
  const spoken = about === undefined ? undefined : `${label}: ${about}`;
  if (post === undefined) {
    return (
      <a
        class={isButton ? "button" : undefined}
        href={link}
        aria-label={spoken}
        aria-current={isCurrent ? "true" : undefined}
      >
        {label}
      </a>
    );
  }
  const form = (
    <Form frame={frame} action={post} class={classOf(inputs)}>
      <Hidden fields={fields} />
      {inputs.map((input) => ("choices" in input ? <Checks {...input} frame={frame} /> : <Field {...input} />))}{" "}
      <span class="row">
        <button type="submit" class={isMain || asks ? "primary" : undefined} aria-label={spoken}>
          {label}
        </button>
        {orElse && (
          <button type="submit" name={orElse.name} value={orElse.value} formnovalidate>
            {orElse.label}
          </button>
        )}
      </span>
    </Form>
  );
  if (asks === undefined) return form;
  return (
    <details class="action" open={asks.isOpen}>
      <summary id={asks.id}>
        {asks.title} <span class="hidden">{about}</span>
      </summary>
      <PanelView panel={asks.panel} frame={frame} />
      {form}
    </details>
  );
}

function Checks({ name, label, choices, frame }: Choices & { frame: Frame }) {
  return (
    <fieldset class="stack">
      <legend>{label}</legend>
      {choices.map(({ value, text, isChosen }) => (
        <label class="check">
          <input type="checkbox" name={name} value={value} checked={isChosen} />
          <span>{textOf(text, frame)}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** A single choice shares a line with its button. */
function classOf(inputs: readonly (Input | Choices)[]): string | undefined {
  if (inputs.length === 0) return undefined;
  return inputs.every((input) => "options" in input) ? "row" : "stack";
}
