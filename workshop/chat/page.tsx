import { html } from "hono/html";
import { CallList, Head } from "../live-parts.tsx";
import { messagesScript } from "../messages-script.ts";
import { messagesStyle } from "../messages-style.ts";
import { createLivePage, type LivePage, readGivenFault } from "../stand-in.ts";
import type { StandInCall } from "./bot-endpoint.ts";
import { ChatFaultForm, ChatList, ChatView } from "./chat-view.tsx";
import { type Faults, readFault } from "./faults.ts";
import type { World } from "./world.ts";

export interface ChatPageDeps {
  world: World;
  faults: Faults;
  calls(): readonly StandInCall[];
}

/**
 * What people see of the stand-in: `/` the chats, `/events` what changed, `/chats/<id>/messages.json` and `/calls.json`
 * for scripts, `/chats/<id>/messages/<number>.png` a picture, `POST /faults` to break the next request (a form, or JSON like the argument of `faults.next`).
 */
export function createChatPage({ world, faults, calls }: ChatPageDeps): LivePage {
  const { app, close } = createLivePage({ onChange: world.onChange, style: messagesStyle, script: messagesScript });

  app.get("/", (c) => {
    const chats = [...world.chats.values()];
    const wanted = c.req.query("chat");
    const chat = world.chat(wanted ?? "") ?? chats[0];
    if (wanted !== undefined && chat?.id !== wanted) return c.redirect("/");
    const document = (
      <html lang="en">
        <Head title={chat === undefined ? "Stand-in chat" : `${chat.title} · stand-in chat`} />
        <body>
          <header class="banner">
            <b>Stand-in for Telegram.</b> Nothing here leaves this machine. <span id="live-state">Live</span>
          </header>
          <main>
            <ChatList chats={chats} current={chat?.id ?? ""} />
            {chat !== undefined && <ChatView chat={chat} />}
            <aside>
              <CallList calls={calls()} />
              <ChatFaultForm chatId={chat?.id ?? ""} pending={faults.pending()} />
            </aside>
          </main>
        </body>
      </html>
    );
    return c.html(html`<!doctype html>${document}`);
  });

  app.get("/chats/:id/messages.json", (c) => {
    const chat = world.chat(c.req.param("id"));
    if (chat === undefined) return c.json({ error: "no such chat" }, 404);
    return c.json({ data: chat.messages.filter(({ deletedAt }) => deletedAt === undefined) });
  });
  app.get("/chats/:id/messages/:file{[0-9]+\\.png}", (c) => {
    const png = world.picture(c.req.param("id"), Number.parseInt(c.req.param("file"), 10));
    if (png === undefined) return c.json({ error: "no such picture" }, 404);
    return c.body(Buffer.from(png), 200, { "content-type": "image/png" });
  });
  app.get("/calls.json", (c) => c.json({ data: calls() }));

  app.post("/faults", async (c) => {
    const { isForm, given } = await readGivenFault(c);
    const fault = readFault(given);
    if (typeof fault === "string") return c.json({ error: fault }, 400);
    faults.next(fault);
    world.changed(fault.chat ?? "");
    if (!isForm) return c.json({ data: { pending: faults.pending() } }, 201);
    return c.redirect(`/?chat=${encodeURIComponent(fault.chat ?? "")}`, 303);
  });
  app.post("/faults/clear", (c) => {
    faults.clear();
    world.changed("");
    return c.redirect("/", 303);
  });

  return { app, close };
}
