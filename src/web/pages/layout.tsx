import { raw } from "hono/html";
import type { Child, PropsWithChildren } from "hono/jsx";
import { type AppError, httpStatusOf } from "../../core/errors.ts";
import type { ChangeCursor } from "../../core/ports/alert-log.ts";
import type { Assets } from "../assets.ts";
import { setRetryAfter } from "../error-answer.ts";
import type { WebContext } from "../web-env.ts";
import { Form } from "./form-element.tsx";
import type { Frame } from "./frame.ts";
import { Strip } from "./strip.tsx";

const sections = [
  { path: "/", name: "Alerts" },
  { path: "/destinations", name: "Destinations" },
  { path: "/routes", name: "Routes" },
  { path: "/mutes", name: "Mutes" },
  { path: "/shapes", name: "Shapes" },
  { path: "/silence", name: "Silence" },
  { path: "/gaps", name: "Gaps" },
  { path: "/system", name: "System" },
  { path: "/setup", name: "Setup" },
  { path: "/api", name: "API" },
] as const;
export type Section = (typeof sections)[number]["path"];

interface DocumentProps {
  assets: Assets;
  title: string;
  /** Version of the log that the page shows; with it the script keeps the page up to date. */
  version?: ChangeCursor;
  /** Of the one alert that the page is about: other alerts' changes do not touch it. */
  alertId?: string;
  /** With the script of the log. Default false. */
  isLog?: boolean;
}

/** The bare document: head, style, script. */
export function HtmlDocument({ assets, title, version, alertId, isLog, children }: PropsWithChildren<DocumentProps>) {
  return (
    <>
      {raw("<!doctype html>")}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          <meta name="color-scheme" content="light dark" />
          <title>{`${title} · Tocsin`}</title>
          <link rel="icon" href={assets.icon} />
          <link rel="stylesheet" href={assets.style} />
          <script src={assets.script} defer />
          <script src={assets.keysScript} defer />
          {isLog && <script src={assets.logScript} defer />}
        </head>
        <body data-version={version} data-alert={alertId}>
          {children}
        </body>
      </html>
    </>
  );
}

interface LayoutProps {
  frame: Frame;
  title: string;
  section?: Section;
  version?: ChangeCursor;
  alertId?: string;
}

/** A page behind the login. */
export function Layout(props: PropsWithChildren<LayoutProps>) {
  const { frame, title, section, version, alertId, children } = props;
  return (
    <HtmlDocument assets={frame.assets} title={title} version={version} alertId={alertId} isLog={section === "/"}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href="/">
          <img src={frame.assets.icon} alt="" width="20" height="20" />
          Tocsin
        </a>
        <Sections current={section} frame={frame} />
        <p id="live" class="live" role="status" hidden />
        <button type="button" id="zone" class="plain" hidden />
        <LogOut frame={frame} />
      </header>
      <Strip frame={frame} />
      <main id="main">{children}</main>
    </HtmlDocument>
  );
}

function LogOut({ frame }: { frame: Frame }) {
  return (
    <Form frame={frame} action="/logout" class="logout">
      <button type="submit" class="plain">
        Log out
      </button>
    </Form>
  );
}

/**
 * A row of links; on a phone a menu, which opens without a script and has what ends the session, for which the head is
 * too narrow there. One of both is shown, and read out.
 */
function Sections({ current, frame }: { current?: Section; frame: Frame }) {
  const links = sections.map(({ path, name }) => (
    <a href={path} aria-current={path === current ? "page" : undefined}>
      {name}
    </a>
  ));
  return (
    <nav aria-label="Sections">
      <div class="row">{links}</div>
      <details>
        <summary>
          <span aria-hidden="true">☰ </span>
          <span class="hidden">Sections, now at </span>
          {sections.find(({ path }) => path === current)?.name ?? "Menu"}
        </summary>
        <div>
          {links}
          <LogOut frame={frame} />
        </div>
      </details>
    </nav>
  );
}

/** The result of what the reader has just done, or what went wrong. */
export function Notice({ kind, children }: { kind: "done" | "warning" | "failed"; children?: Child }) {
  return (
    <p class={`notice ${kind}`} role={kind === "failed" ? "alert" : "status"}>
      {children}
    </p>
  );
}

/** What went wrong with what the reader has asked for, and what to do; nothing when nothing did. */
export function Problem({ error }: { error?: AppError }) {
  if (error === undefined) return null;
  return (
    <Notice kind="failed">
      <b>{error.message}</b> {error.hint}
    </Notice>
  );
}

/** Of a page that shows such a problem beside what it always shows. */
export function statusOf(problem: AppError | undefined) {
  return problem === undefined ? 200 : httpStatusOf(problem.code);
}

/** A page that could not be made: what happened, what to do, and a way back. Says nothing of the log. */
export function answerErrorPage(c: WebContext, error: AppError, assets: Assets) {
  setRetryAfter(c, error);
  return c.render(
    <HtmlDocument assets={assets} title={error.message}>
      <main class="login">
        <h1>{error.message}</h1>
        {error.hint && <p>{error.hint}</p>}
        <p>
          <a href="/">To the alert log</a>
        </p>
      </main>
    </HtmlDocument>,
    httpStatusOf(error.code),
  );
}

/**
 * Text to read and copy as it is. The line break at its start is the one that HTML leaves out of a `pre`. Bytes keep
 * their columns and scroll; the keyboard reaches what scrolls.
 */
export function CodeBlock({ id, text, isBytes = false }: { id?: string; text: string; isBytes?: boolean }) {
  const block = <pre id={id}>{`\n${text}`}</pre>;
  if (!isBytes) return block;
  return (
    <section class="bytes" aria-label="Bytes" tabindex={0}>
      {block}
    </section>
  );
}

export function HeadRow({ names }: { names: string[] }) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th scope="col">{name}</th>
        ))}
      </tr>
    </thead>
  );
}
