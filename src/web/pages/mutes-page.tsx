import type { Context, Hono } from "hono";
import type { MutePreview } from "../../contract/operations.ts";
import { addedMutePanel, endedMutePanel, mutesPanel } from "../../contract/panels/mutes.ts";
import type { Panel } from "../../contract/panels/panel.ts";
import { AppError } from "../../core/errors.ts";
import type { Mute } from "../../core/rules.ts";
import { parseMatch } from "../../matching/read-match.ts";
import { readField, readForm } from "../form.ts";
import { previewBeside, readMute } from "../read-mute.ts";
import type { WebEnv } from "../web-env.ts";
import { Form } from "./form-element.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Layout, Problem, statusOf } from "./layout.tsx";
import { MuteFields } from "./mute-this.tsx";
import { PanelView } from "./panel.tsx";

/** `GET /mutes`: what is silenced now, later and before; add one, end one. */
export function addMutesPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;

  async function render(c: Context<WebEnv>, problem?: AppError, written?: WrittenForm) {
    const mutes = await operations.listMutes(true);
    const added = mutes.find(({ id }) => id === c.req.query("added"));
    const done = added
      ? addedMutePanel(added, await previewBeside(deps, added.matchers))
      : c.req.query("done") === "ended"
        ? endedMutePanel
        : [];
    const page = <MutesPage frame={frameOf(c, deps)} mutes={mutes} done={done} problem={problem} written={written} />;
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

interface WrittenForm {
  match: string;
  reason: string;
  for: string;
  preview?: MutePreview;
}

interface MutesPageProps {
  frame: Frame;
  mutes: Mute[];
  /** What was just done. */
  done: Panel;
  problem?: AppError;
  /** What the reader has typed, kept for another try. */
  written?: WrittenForm;
}

function MutesPage({ frame, mutes, done, problem, written }: MutesPageProps) {
  return (
    <Layout frame={frame} at="/mutes">
      {problem === undefined && <PanelView panel={done} frame={frame} />}
      <Problem error={problem} />
      <section aria-labelledby="now-title">
        <h2 id="now-title">Active and coming</h2>
        <PanelView panel={mutesPanel(mutes, frame.now)} frame={frame} />
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
    </Layout>
  );
}
