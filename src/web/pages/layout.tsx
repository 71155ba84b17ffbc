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
  /** The version of the log on the page. With it the script keeps the page up to date. */
  version?: ChangeCursor;
  /** The alert of an alert's page: changes of other alerts do not refresh it. */
  alertId?: string;
}

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
  /** Default: the question that the page answers. */
  title?: string;
  at?: PagePath;
  version?: ChangeCursor;
  alertId?: string;
}

/** A page behind the login. Pages of a room have the title as their heading. Others write their own. */
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

export function Notice({ kind, children }: { kind: "done" | "warning" | "failed"; children?: Child }) {
  return (
    <p class={`notice ${kind}`} role={kind === "failed" ? "alert" : "status"}>
      {children}
    </p>
  );
}

export function Problem({ error }: { error?: AppError }) {
  if (error === undefined) return null;
  return (
    <Notice kind="failed">
      <b>{error.message}</b> {error.hint}
    </Notice>
  );
}

export function statusOf(problem: AppError | undefined) {
  return problem === undefined ? 200 : httpStatusOf(problem.code);
}

/** Readers who are logged in keep the links to all pages. */
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
