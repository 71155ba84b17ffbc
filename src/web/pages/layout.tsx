import { raw } from "hono/html";
import type { Child, PropsWithChildren } from "hono/jsx";
import { type AppError, httpStatusOf } from "../../core/errors.ts";
import type { ChangeCursor } from "../../core/ports/alert-log.ts";
import type { Assets } from "../assets.ts";
import { setRetryAfter } from "../error-answer.ts";
import { type Frame, frameOf, type PageDeps, type WebContext } from "../web-env.ts";
import { Form } from "./form-element.tsx";
import { Health } from "./health.tsx";
import { type PagePath, PagesOfRoom, questionOf, Rooms } from "./rooms.tsx";

interface DocumentProps {
  assets: Assets;
  title: string;
  /** Version of the log that the page shows; with it the script keeps the page up to date. */
  version?: ChangeCursor;
  /** The id of the one alert that the page is about: other alerts' changes do not touch it. */
  alertId?: string;
}

/** The bare document: head, style, script. */
export function HtmlDocument({ assets, title, version, alertId, children }: PropsWithChildren<DocumentProps>) {
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
  /** Default: the question of the page. */
  title?: string;
  /** The page that it is, or that it belongs to. */
  at?: PagePath;
  version?: ChangeCursor;
  alertId?: string;
}

/** A page behind the login. One of a room has its title as its head; others write theirs. */
export function Layout(props: PropsWithChildren<LayoutProps>) {
  const { frame, at, title = at && questionOf(at), version, alertId, children } = props;
  return (
    <HtmlDocument assets={frame.assets} title={title ?? ""} version={version} alertId={alertId}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <Rooms at={at} icon={frame.assets.icon} />
        <p id="lost" class="lost" role="status" hidden />
        <Health frame={frame} />
        <button type="button" id="zone" class="plain" hidden />
        <div class="on-desk">
          <Form frame={frame} action="/logout">
            <button type="submit" class="plain">
              Log out
            </button>
          </Form>
        </div>
      </header>
      <main id="main">
        {at && <PagesOfRoom at={at} />}
        {at && <h1 class={at === "/" ? "hidden" : undefined}>{title}</h1>}
        {children}
      </main>
    </HtmlDocument>
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

/** The status of a page that shows such a problem besides what it always shows. */
export function statusOf(problem: AppError | undefined) {
  return problem === undefined ? 200 : httpStatusOf(problem.code);
}

/** A page that could not be made: what happened, and what to do. Who has logged in keeps the ways to all others. */
export function answerErrorPage(c: WebContext, error: AppError, deps: PageDeps) {
  setRetryAfter(c, error);
  const session = deps.cookie.read(c);
  const what = (
    <>
      <h1>{error.message}</h1>
      {error.hint && <p>{error.hint}</p>}
      <p>
        <a href="/">To the alert log</a>
      </p>
    </>
  );
  const page =
    session === undefined ? (
      <HtmlDocument assets={deps.assets} title={error.message}>
        <main class="login empty">{what}</main>
      </HtmlDocument>
    ) : (
      <Layout frame={frameOf(c, deps, session)} title={error.message}>
        {what}
      </Layout>
    );
  return c.render(page, httpStatusOf(error.code));
}
