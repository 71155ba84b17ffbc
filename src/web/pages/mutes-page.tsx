import type { Hono } from "hono";
import { viewMute } from "../../contract/make-views.ts";
import type { MutePreview } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import { parseMatch } from "../../matching/read-match.ts";
import { addedMutePanel, endedMutePanel, mutesPanel } from "../../panels/mutes.ts";
import { orProblem, readField, readForm } from "../form.ts";
import { previewBeside, readMute } from "../read-mute.ts";
import type { WebContext, WebEnv } from "../web-env.ts";
import { Field, Form } from "./form-element.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { statusOf } from "./layout.tsx";
import { MuteFields } from "./mute-this.tsx";
import { PanelPage } from "./panel-page.tsx";

/** `GET /mutes`: what is silenced now, later and before; add one, end one. */
export function addMutesPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const { operations } = deps;

  async function answer(c: WebContext, problem?: AppError, written?: WrittenForm) {
    const frame = frameOf(c, deps);
    const mutes = await operations.listMutes(true);
    const added = mutes.find(({ id }) => id === c.req.query("added"));
    const said = added
      ? addedMutePanel(added, await previewBeside(deps, added.matchers))
      : c.req.query("done") === "ended"
        ? endedMutePanel
        : [];
    const current = mutesPanel(mutes.map((mute) => viewMute(mute, frame.now)));
    const page = (
      <PanelPage
        frame={frame}
        at="/mutes"
        problem={problem}
        panel={[
          ...(problem === undefined ? said : []),
          { kind: "group", title: "Active and coming", id: "now-title", panel: current },
        ]}
      >
        <AddMute frame={frame} written={written} />
      </PanelPage>
    );
    return c.render(page, statusOf(problem));
  }

  app.get("/mutes", (c) => answer(c));

  app.post("/mutes", async (c) => {
    const form = await readForm(c);
    const [match, reason] = [readField(form, "match"), readField(form, "reason")];
    const written = { match, reason, for: readField(form, "for") };
    const lines = match.split(/\r?\n/).filter((line) => line.trim() !== "");
    return orProblem(
      async () => {
        if (readField(form, "do") === "preview") {
          const preview = await operations.previewMute(parseMatch(lines));
          return answer(c, undefined, { ...written, preview });
        }
        if (reason === "") throw new AppError("invalid_request", "A mute needs a reason.");
        const { id } = await operations.addMute(readMute(deps, { ...written, match: lines }, "page"));
        return c.redirect(`/mutes?added=${encodeURIComponent(id)}`, 303);
      },
      (problem) => answer(c, problem, written),
    );
  });

  app.post("/mutes/:id/end", (c) =>
    orProblem(
      async () => {
        await operations.endMute(c.req.param("id"));
        return c.redirect("/mutes?done=ended", 303);
      },
      (problem) => answer(c, problem),
    ),
  );
}

/** What the reader has typed, kept for another try. */
interface WrittenForm {
  match: string;
  reason: string;
  for: string;
  preview?: MutePreview;
}

function AddMute({ frame, written }: { frame: Frame; written?: WrittenForm }) {
  return (
    <section aria-labelledby="add-title">
      <h2 id="add-title">Mute alerts</h2>
      <Form frame={frame} action="/mutes" class="stack">
        <Field
          name="match"
          label="That match all of these lines"
          value={written?.match}
          lines={3}
          placeholder={"severity=info\ntoken=USDC,DAI"}
        />
        <p class="soft">
          As in <code>match</code> of a route: <code>token=USDC,DAI</code> (any of them), <code>chain!=eth</code>,{" "}
          <code>value&gt;=5</code>, <code>title=~^TVL</code>, <code>title="TVL, daily"</code>,{" "}
          <code>payload.pool.address=0x…</code>, <code>unit is missing</code>
        </p>
        <MuteFields preview={written?.preview} written={written} />
      </Form>
    </section>
  );
}
