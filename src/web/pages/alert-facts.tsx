import { type AlertFacts, limitsChange } from "../../core/alert.ts";
import type { AlertDetail } from "../../core/ports/alert-log.ts";
import { cleanLine } from "../../ground/text/clean.ts";
import { lengthOf } from "../../ground/time/ages.ts";
import { describeMatcher } from "../../matching/describe-match.ts";
import { factFields } from "../../matching/path.ts";
import { Amount, titleOf } from "./alert-text.tsx";
import { Instant } from "./instants.tsx";
import { LongBox } from "./long-box.tsx";

const formatWords: Record<AlertFacts["format"], string> = {
  json: "JSON",
  "broken-json": "broken JSON, read as well as it could be",
  form: "a form",
  text: "plain text",
  binary: "bytes that are no text",
  empty: "nothing",
  unreadable: "could not be read, shown as received",
};

/** The others unfold: a body of 200 fields would push all else off the page. */
const shownFields = 16;

/** What could be read from the body, and what could not. */
export function FactList({ alert, now }: { alert: AlertDetail; now: number }) {
  const { facts } = alert;
  if (facts === undefined) {
    return <p class="soft">The body is stored and shown below; it has not been read yet.</p>;
  }
  const isOfChange = limitsChange(facts);
  const amounts: [string, string | undefined, string | undefined][] = [
    ["Value", facts.value, facts.unit],
    [isOfChange ? "Threshold of the change" : "Threshold", facts.threshold, isOfChange ? undefined : facts.unit],
    ["Value before", facts.previousValue, facts.unit],
  ];
  const rows: [string, string | undefined][] = [
    ["Title as sent", cleanLine(facts.title) === titleOf(alert) ? undefined : facts.title],
    ["Token", facts.token],
    ["Chain", facts.chain],
    ["Metric", facts.metric],
    ["Source", facts.source],
    ["Sender's id", facts.externalId],
  ];
  return (
    <>
      {facts.text !== undefined && (
        <LongBox name="the text" text={facts.text}>
          <p class="words" dir="auto">
            {facts.text}
          </p>
        </LongBox>
      )}
      <dl class="facts">
        {amounts.map(
          ([label, sent, unit]) =>
            sent !== undefined && (
              <>
                <dt>{label}</dt>
                <dd dir="auto">
                  <Amount sent={sent} unit={unit} />
                </dd>
              </>
            ),
        )}
        {rows.map(([label, value]) => value !== undefined && <Fact label={label} value={value} />)}
        {facts.link !== undefined && <LinkFact link={facts.link} />}
        {facts.fields.slice(0, shownFields).map(({ name, value }) => (
          <Fact label={name} value={value} />
        ))}
        <dt>Received</dt>
        <dd>
          <Instant at={alert.receivedAt} now={now} />
        </dd>
        {facts.occurredAt !== undefined && (
          <>
            <dt>Happened</dt>
            <dd>
              <Instant at={facts.occurredAt} now={now} /> {delayWords(facts.occurredAt, alert.receivedAt)}
            </dd>
          </>
        )}
        <Fact label="Alert key" value={facts.alertKey} />
        <Fact label="Body" value={formatWords[facts.format]} />
        <Fact label="Id" value={alert.id} />
      </dl>
      {facts.fields.length > shownFields && (
        <details class="more">
          <summary>
            {facts.fields.length - shownFields} more fields
            {facts.unlistedFields !== undefined && `, and ${facts.unlistedFields.toLocaleString("en")} in the raw body`}
          </summary>
          <dl class="facts">
            {facts.fields.slice(shownFields).map(({ name, value }) => (
              <Fact label={name} value={value} />
            ))}
          </dl>
        </details>
      )}
      {facts.notes.length > 0 && (
        <ul class="notes">
          {facts.notes.map((note) => (
            <li>{note}</li>
          ))}
        </ul>
      )}
      {alert.request !== undefined && <MatchConditions alert={alert} facts={facts} />}
    </>
  );
}

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <>
      <dt>
        <bdi>{label}</bdi>
      </dt>
      <dd dir="auto">{value}</dd>
    </>
  );
}

/** Only web addresses become links, and the whole address is the text, so that it cannot pass for another. */
function LinkFact({ link }: { link: string }) {
  if (!/^https?:\/\//i.test(link)) return <Fact label="Link" value={link} />;
  return (
    <>
      <dt>Link</dt>
      <dd>
        <a href={link} rel="noopener noreferrer nofollow" target="_blank" dir="ltr">
          {link}
        </a>
      </dd>
    </>
  );
}

function delayWords(occurredAt: number, receivedAt: number): string {
  const delayMs = receivedAt - occurredAt;
  return delayMs > 60_000 ? `(${lengthOf(delayMs)} before it was received)` : "";
}

/** A longer value is a text that nobody compares with. */
const longestValue = 200;

/** What was read, as conditions that can be copied into a route or a mute. */
function MatchConditions({ alert, facts }: { alert: AlertDetail; facts: AlertFacts }) {
  const conditions = factFields.flatMap((field) => {
    const value = field === "origin" ? alert.origin : facts[field];
    if (value === undefined || value.length > longestValue) return [];
    return describeMatcher({ field, condition: { equals: [value] } });
  });
  return (
    <details class="action">
      <summary>As conditions for a route or a mute</summary>
      <ul class="notes">
        {conditions.map((condition) => (
          <li>
            <code class="matcher">{condition}</code>
          </li>
        ))}
      </ul>
      <p class="soft">
        Paths into the body: <code>tocsin explain {alert.id}</code>
      </p>
    </details>
  );
}
