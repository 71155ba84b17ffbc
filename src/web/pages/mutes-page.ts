import type { Hono } from "hono";
import { viewMute } from "../../contract/make-views.ts";
import type { MutePreview } from "../../contract/operations.ts";
import { AppError } from "../../core/errors.ts";
import {
  addedMutePanel,
  endedMutePanel,
  muteAct,
  muteAllAct,
  mutesPanel,
  previewNote,
  type WrittenMute,
} from "../../panels/mutes.ts";
import type { Cell, Panel, Section } from "../../panels/panel.ts";
import { actsOf, aside, groupOf } from "../../panels/sections.ts";
import { orProblem, readField, readForm } from "../form.ts";
import { previewBeside, readMute, readMuted } from "../read-mute.ts";
import { frameOf, type PageDeps, type WebContext, type WebEnv } from "../web-env.ts";
import { answerPanel } from "./panel-page.tsx";

/** `GET /mutes`: mutes of now, later and before. Adds and ends mutes. */
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
    const panel: Panel = [
      ...(problem === undefined ? said : []),
      groupOf(
        { title: "Active and coming", id: "now-title" },
        mutesPanel(mutes.map((mute) => viewMute(mute, frame.now))),
      ),
      addMutePanel(written),
    ];
    return answerPanel(c, { frame, at: "/mutes", problem, panel });
  }

  app.get("/mutes", (c) => answer(c));

  app.post("/mutes", async (c) => {
    const form = await readForm(c);
    const [match, reason] = [readField(form, "match"), readField(form, "reason")];
    const all = readField(form, "all") === "true" || undefined;
    const written = { match, reason, for: readField(form, "for"), all };
    const lines = all ? undefined : match.split(/\r?\n/).filter((line) => line.trim() !== "");
    return orProblem(
      async () => {
        if (readField(form, "do") === "preview") {
          const preview = await operations.previewMute(readMuted({ all, match: lines }));
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

interface WrittenForm extends WrittenMute {
  match: string;
  all?: true;
  preview?: MutePreview;
}

function addMutePanel(written?: WrittenForm): Section {
  const match = {
    name: "match",
    label: "That match all of these lines",
    value: written?.match,
    lines: 3,
    placeholder: "severity=info\ntoken=USDC,DAI",
  };
  const examples = [
    "chain!=eth",
    "token~US*",
    "value>=5",
    "title=~^TVL",
    'title="TVL, daily"',
    "(token=DAI or not chain=eth)",
    "payload.pool.address=0x…",
  ];
  return groupOf({ title: "Mute alerts", id: "add-title" }, [
    previewNote(written?.preview),
    actsOf(muteAct("/mutes", [match], written?.all ? undefined : written)),
    aside`As in ${{ code: "match" }} of a route: ${{ code: "token=USDC,DAI" }} (any of them),
      ${examples.map((code): Cell => [{ code }, { words: ", " }])}${{ code: "unit is missing" }}`,
    actsOf(muteAllAct(written?.all ? written : undefined)),
  ]);
}
