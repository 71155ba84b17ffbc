import type { Context, Hono } from "hono";
import { AppError } from "../../core/errors.ts";
import type { MutePreview } from "../../core/operations.ts";
import type { Mute } from "../../core/rules.ts";
import { describeMatcher } from "../../matching/describe-match.ts";
import { parseMatch } from "../../matching/read-match.ts";
import { readField, readForm } from "../form.ts";
import { describePreview, type MuteState, matchesNothing, muteStateOf } from "../mute-state.ts";
import { previewBeside, readMute } from "../read-mute.ts";
import type { WebEnv } from "../web-env.ts";
import { Chip, type Tone } from "./delivery-chips.tsx";
import { Form } from "./form-element.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant } from "./instants.tsx";
import { Layout, Notice, Problem, statusOf } from "./layout.tsx";
import { MuteFields } from "./mute-this.tsx";

/** Past mutes shown at most; the API lists all. */
const endedShown = 50;

/** `GET /mutes`: what is silenced now, later and before; add one, end one. */
export function addMutesPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;

  async function render(c: Context<WebEnv>, problem?: AppError, written?: WrittenForm) {
    const mutes = await operations.listMutes(true);
    const added = mutes.find(({ id }) => id === c.req.query("added"));
    const page = (
      <MutesPage
        frame={frameOf(c, deps)}
        mutes={mutes}
        done={doneWords[added === undefined ? (c.req.query("done") ?? "") : "added"]}
        preview={added && (await previewBeside(deps, added.matchers))}
        problem={problem}
        written={written}
      />
    );
    return c.render(page, statusOf(problem));
  }

  app.get("/mutes", (c) => render(c));

  app.post("/mutes", async (c) => {
    const form = await readForm(c);
    const match = readField(form, "match");
    const reason = readField(form, "reason");
    const written = { match, reason, for: readField(form, "for") };
    try {
      const lines = match.split(/\r?\n/).filter((line) => line.trim() !== "");
      if (readField(form, "do") === "preview") {
        const preview = await operations.previewMute(parseMatch(lines));
        return render(c, undefined, { ...written, preview });
      }
      if (reason === "") throw new AppError("invalid_request", "A mute needs a reason.");
      const { id } = await operations.addMute(readMute(deps, { ...written, match: lines }, "page"));
      return c.redirect(`/mutes?added=${encodeURIComponent(id)}`, 303);
    } catch (error) {
      if (error instanceof AppError) return render(c, error, written);
      throw error;
    }
  });

  app.post("/mutes/:id/end", async (c) => {
    try {
      await operations.endMute(c.req.param("id"));
      return c.redirect("/mutes?done=ended", 303);
    } catch (error) {
      if (error instanceof AppError) return render(c, error);
      throw error;
    }
  });
}

const doneWords: Readonly<Record<string, string>> = {
  added: "Muted. Alerts that match are stored and not sent until the mute ends.",
  ended: "Ended. Alerts that match are sent again from now on; those that were muted can be resent.",
};

interface WrittenForm {
  match: string;
  reason: string;
  for: string;
  preview?: MutePreview;
}

interface MutesPageProps {
  frame: Frame;
  mutes: Mute[];
  done?: string;
  /** What the mute that was just made would have held. */
  preview?: MutePreview;
  problem?: AppError;
  /** What the reader has typed, kept for another try. */
  written?: WrittenForm;
}

function MutesPage({ frame, mutes, done, preview, problem, written }: MutesPageProps) {
  const inState = (state: MuteState) => mutes.filter((mute) => muteStateOf(mute, frame.now) === state);
  const current = [...inState("active"), ...inState("coming")];
  const ended = inState("ended")
    .sort((a, b) => b.endsAt - a.endsAt)
    .slice(0, endedShown);
  return (
    <Layout frame={frame} at="/mutes">
      {done !== undefined && problem === undefined && <Notice kind="done">{done}</Notice>}
      {preview && problem === undefined && (
        <Notice kind={matchesNothing(preview) ? "warning" : "done"}>{describePreview(preview)}</Notice>
      )}
      <Problem error={problem} />
      <div class="columns">
        <section aria-labelledby="now-title">
          <h2 id="now-title">Active and coming</h2>
          {current.length === 0 ? (
            <p class="soft">Nothing is muted: every alert is sent as its routes say.</p>
          ) : (
            current.map((mute) => <MuteCard mute={mute} frame={frame} />)
          )}
          {ended.length > 0 && (
            <details>
              <summary>Ended</summary>
              {ended.map((mute) => (
                <MuteCard mute={mute} frame={frame} />
              ))}
            </details>
          )}
        </section>
        <section aria-labelledby="add-title">
          <h2 id="add-title">Mute alerts</h2>
          <Form frame={frame} action="/mutes" class="stack">
            <label>
              <span>That match all of these lines</span>
              <textarea name="match" rows={3} required spellcheck={false} placeholder={"severity=info\ntoken=USDC,DAI"}>
                {written?.match}
              </textarea>
            </label>
            <p class="soft">
              As in <code>match</code> of a route: <code>token=USDC,DAI</code> (any of them), <code>chain!=eth</code>,{" "}
              <code>value&gt;=5</code>, <code>title=~^TVL</code>, <code>title="TVL, daily"</code>,{" "}
              <code>payload.pool.address=0x…</code>, <code>unit is missing</code>
            </p>
            <MuteFields preview={written?.preview} written={written} />
          </Form>
        </section>
      </div>
    </Layout>
  );
}

const stateTone: Record<MuteState, Tone> = { active: "busy", coming: "off", ended: "off" };

function MuteCard({ mute, frame }: { mute: Mute; frame: Frame }) {
  const state = muteStateOf(mute, frame.now);
  return (
    <article class="mute">
      <p>
        <Chip tone={stateTone[state]}>{state}</Chip>{" "}
        {mute.matchers.flatMap(describeMatcher).map((text) => (
          <code class="matcher">{text}</code>
        ))}
      </p>
      <p dir="auto">{mute.reason}</p>
      <p class="soft">
        {state === "coming" && (
          <>
            starts <Instant at={mute.startsAt} now={frame.now} />,{" "}
          </>
        )}
        {state === "ended" ? "ended" : "ends"} <Instant at={mute.endsAt} now={frame.now} /> · made by {mute.createdBy}
      </p>
      {state !== "ended" &&
        (mute.createdBy === "configuration" ? (
          <p class="soft">It is in the configuration, and is ended there.</p>
        ) : (
          <Form frame={frame} action={`/mutes/${mute.id}/end`} class="inline">
            <button type="submit">End now</button>
          </Form>
        ))}
    </article>
  );
}
