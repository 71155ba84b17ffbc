import { html } from "hono/html";
import type { Child } from "hono/jsx";
import { CallList, FaultForm, Head, type ShownCall } from "../live-parts.tsx";
import { messagesScript } from "../messages-script.ts";
import { messagesStyle } from "../messages-style.ts";
import { createLivePage, type LivePage, type OnChange, readGivenFault } from "../stand-in.ts";
import { DiscordMessage, NtfyMessage, SlackMessage } from "./app-views.tsx";
import type { AppBoards } from "./apps-stand-in.ts";
import { type AppFaults, type AppName, appNames, faultWording, readAppFault } from "./faults.ts";

export interface AppsPageDeps {
  boards: AppBoards;
  faults: AppFaults;
  calls(): readonly ShownCall[];
  onChange: OnChange;
  changed(): void;
  /** What the channel or topic is called. */
  names: Record<AppName, string>;
}

const titles: Record<AppName, string> = { slack: "Slack", discord: "Discord", ntfy: "ntfy on a phone" };
const messagesShown = 200;

/**
 * What people see of the stand-ins: `/?app=slack` and so on, `/events` what changed, `/messages.json?app=slack` and
 * `/calls.json` for scripts, `POST /faults` to break the next message (a form, or JSON like the argument of `faults.next`).
 */
export function createAppsPage({ boards, faults, calls, onChange, changed, names }: AppsPageDeps): LivePage {
  const { app: page, close } = createLivePage({
    onChange,
    style: messagesStyle + appsStyle,
    script: messagesScript,
    images: ["http://127.0.0.1:*", "http://localhost:*"],
  });
  const views: Record<AppName, () => Child[]> = {
    slack: () =>
      boards.slack
        .posted()
        .slice(-messagesShown)
        .map((posted) => <SlackMessage posted={posted} />),
    discord: () =>
      boards.discord
        .posted()
        .slice(-messagesShown)
        .map((posted) => <DiscordMessage posted={posted} />),
    ntfy: () =>
      boards.ntfy
        .posted()
        .slice(-messagesShown)
        .map((posted) => <NtfyMessage posted={posted} />),
  };

  page.get("/", (c) => {
    const wanted = c.req.query("app");
    const current = appNames.find((name) => name === wanted) ?? "slack";
    if (wanted !== undefined && wanted !== current) return c.redirect("/");
    const count = boards[current].posted().length;
    const document = (
      <html lang="en">
        <Head title={`${names[current]} · stand-in for ${titles[current]}`} />
        <body>
          <header class="banner">
            <b>Stand-ins for Slack, Discord and ntfy.</b> Nothing here leaves this machine.{" "}
            <span id="live-state">Live</span>
          </header>
          <main>
            <nav class="chats" id="chats" data-live aria-label="Apps">
              {appNames.map((name) => (
                <a href={`/?app=${name}`} aria-current={name === current ? "page" : undefined}>
                  <span class="title">{titles[name]}</span>
                  <span class="count">{boards[name].posted().length}</span>
                  <span class="last">{names[name]}</span>
                </a>
              ))}
            </nav>
            <section class="chat" id="chat" data-live aria-label={`Messages in ${titles[current]}`}>
              <header class="chat-head">
                <h1>{names[current]}</h1>
                <p>
                  {titles[current]} · {count} {count === 1 ? "message" : "messages"}
                </p>
              </header>
              <ol class={`messages ${current}`} id="messages" tabindex={0} aria-label="Messages, oldest first">
                {count > messagesShown && <li class="mark">{count - messagesShown} older messages</li>}
                {count === 0 && <li class="mark">Nothing here yet. Messages appear as they are sent.</li>}
                {views[current]()}
              </ol>
            </section>
            <aside>
              <CallList calls={calls()} />
              <FaultForm
                title="Break the next message"
                of={["app", current]}
                label="The app"
                words={faultWording}
                pending={faults.pending().map(({ kind }) => faultWording[kind])}
              />
            </aside>
          </main>
        </body>
      </html>
    );
    return c.html(html`<!doctype html>${document}`);
  });
  page.get("/messages.json", (c) => {
    const app = appNames.find((name) => name === c.req.query("app"));
    if (app === undefined) return c.json({ error: "no such app" }, 404);
    return c.json({ data: boards[app].posted() });
  });
  page.get("/calls.json", (c) => c.json({ data: calls() }));

  page.post("/faults", async (c) => {
    const { isForm, given } = await readGivenFault(c);
    const fault = readAppFault(given);
    if (typeof fault === "string") return c.json({ error: fault }, 400);
    faults.next(fault);
    if (!isForm) return c.json({ data: { pending: faults.pending() } }, 201);
    return c.redirect(`/?app=${fault.app ?? "slack"}`, 303);
  });
  page.post("/faults/clear", (c) => {
    faults.clear();
    changed();
    return c.redirect("/", 303);
  });

  return { app: page, close };
}

const appsStyle = `
.messages.slack .message { border-radius: 4px; align-self: stretch; max-width: 46rem; box-shadow: none;
  border: 1px solid var(--line); }
.messages.discord .message { border-radius: 8px; max-width: 34rem; }
.messages.ntfy .message { border-radius: 18px; max-width: 24rem; }
.app-tag { font-size: 11px; padding: 0 4px; border-radius: 3px; background: var(--raised); color: var(--soft);
  border: 1px solid var(--line); }
.messages.ntfy .from { display: none; }
.embed { position: relative; margin-top: 6px; padding: 8px 12px 8px 16px; background: var(--raised); border-radius: 4px;
  overflow: hidden; font-size: 14px; }
.embed .bar { position: absolute; inset: 0 auto 0 0; width: 4px; height: 100%; }
.text p { min-height: 0.6em; }
.heading-1, .heading-2, .heading-3 { font-weight: 700; }
.heading-1 { font-size: 20px; }
.heading-2 { font-size: 17px; }
.mention { background: var(--line); border-radius: 3px; padding: 0 3px; }
.picture img { display: block; max-width: 100%; height: auto; border-radius: 6px; margin-top: 6px; }
.list { margin: 4px 0; padding-left: 22px; }
.actions { display: flex; flex-wrap: wrap; gap: 6px; margin-top: 8px; }
.actions a, .action { padding: 3px 10px; border: 1px solid var(--line); border-radius: 6px; background: var(--raised);
  text-decoration: none; font-size: 13px; font-weight: 600; }
`;
