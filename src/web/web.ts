import { Hono } from "hono";
import { createLoginCodes } from "../contract/login-link.ts";
import { type ApiDocument, createDocument } from "../contract/openapi.ts";
import { AppError } from "../core/errors.ts";
import { createPoll } from "../core/poll.ts";
import { turns } from "../ground/turns.ts";
import { withSpool } from "../http/plain-answer.ts";
import { createFormCheck, createGuard } from "./access/guard.ts";
import { createSessionCookie, openSessions } from "./access/session.ts";
import { createEventStreams } from "./api/event-stream.ts";
import { createHandlers, mountApi } from "./api/handlers.ts";
import { addAssets, loadAssets } from "./assets.ts";
import { compressPages } from "./compress.ts";
import { answerError, toAppError } from "./error-answer.ts";
import { createExports } from "./export.ts";
import { addAlertPage } from "./pages/alert-page.tsx";
import { addDestinationsPage } from "./pages/destinations-page.tsx";
import { addHealth } from "./pages/health.tsx";
import { answerErrorPage } from "./pages/layout.tsx";
import { addLogPage } from "./pages/log-page.tsx";
import { addLoginPages } from "./pages/login-page.tsx";
import { addMutesPage } from "./pages/mutes-page.ts";
import { addResendPage } from "./pages/resend-page.ts";
import { addRoutesPage } from "./pages/routes-page.ts";
import { addSystemPages } from "./pages/system-pages.ts";
import { addWatchPages } from "./pages/watch-pages.ts";
import { addPictures } from "./pictures.ts";
import { createBodyReader } from "./request-body.ts";
import { securityHeaders } from "./security-headers.ts";
import type { WebDeps } from "./web-deps.ts";
import { createClientNetwork, type PageDeps, type WebContext, type WebEnv } from "./web-env.ts";

export type Web = Awaited<ReturnType<typeof createWeb>>;

/** How long a session may live here after it ended at another relay, milliseconds. */
const lookForEndedEveryMs = 1_000;
const maxFormBytes = 64 * 1024;
/** The most bytes that a form needs for one byte of a field. */
const mostPerByte = 3;
const leastRoomBytes = 16 * 1024 * 1024;
/** The one header that an answer may replace: pictures are shown on other sites. */
const policyForOthers = "cross-origin-resource-policy";

/** Pages, API and event stream: everything over HTTP except the hook and the probes. */
export async function createWeb(deps: WebDeps) {
  const { store, publicUrl, adminToken, clock, log } = deps;
  const isHttps = publicUrl.startsWith("https:");
  const assets = loadAssets();
  const answerExport = createExports(deps);
  const streams = createEventStreams({ store, publicUrl, learnedName: deps.learnedName, clock, log });
  const sessions = await openSessions({ adminToken, store, now: clock.now, onEnded: () => streams.closeEnded() });
  const closing = new AbortController();
  if (store.capabilities.sharedByRelays) {
    const look = sessions.lookForEnded;
    // A failure needs no report: while the database is away, each page says so.
    void createPoll({ look, everyMs: lookForEndedEveryMs, clock, onFailed: () => {} }).run(closing.signal);
  }
  const cookie = createSessionCookie(sessions, isHttps);
  const networkOf = createClientNetwork(deps);
  const codes = createLoginCodes({ adminToken, store, now: clock.now });
  const pageDeps: PageDeps = { ...deps, assets, sessions, cookie, networkOf, codes, answerExport };

  const app = new Hono<WebEnv>();
  const headers = Object.entries(securityHeaders(isHttps));
  app.use(async (c, next) => {
    await next();
    // Nobody reads the body of a HEAD. An event stream would keep its place for good.
    if (c.req.method === "HEAD") await c.res.body?.cancel();
    // `c.header` would read the whole body of a finished answer again, which takes longer than to write it.
    for (const [name, value] of headers) {
      if (name !== policyForOthers || !c.res.headers.has(name)) c.res.headers.set(name, value);
    }
    if (!c.res.headers.has("cache-control")) c.res.headers.set("cache-control", "no-store");
  });
  app.use(async (_c, next) => {
    await turns.take();
    await next();
  });
  app.use(compressPages);
  app.use((c, next) => {
    if (!closing.signal.aborted || c.req.method === "GET" || c.req.method === "HEAD") return next();
    throw new AppError("relay_stopping", "Tocsin is being stopped, so nothing was changed.", {
      hint: "Try again when it runs again.",
      retryAfterMs: 2_000,
    });
  });
  app.use(createGuard(pageDeps));
  const mostTried = deps.operations.maxBodyBytes * mostPerByte + maxFormBytes;
  app.use(
    createBodyReader({
      networkOf,
      mostFor: (path) => (path === "/routes" ? mostTried : maxFormBytes),
      roomBytes: Math.max(leastRoomBytes, 2 * mostTried),
    }),
  );
  app.use(createFormCheck(sessions));

  let made: ApiDocument | undefined;
  /** Made on first use, as it takes longer than all pages together. */
  const document = () => (made ??= createDocument(publicUrl));
  mountApi(app, createHandlers({ ...pageDeps, streams }));
  app.get("/api/openapi.json", (c) => c.json(document()));
  addPages(app, pageDeps, document);
  addPictures(app, deps);
  addAssets(app, assets);

  function answerFailure(c: WebContext, thrown: unknown): Response | Promise<Response> {
    const error = withSpool(toAppError(thrown), deps.operations.spool());
    if (error.code === "internal") {
      log.error("web.failed", { method: c.req.method, path: c.req.path, error: String(thrown) });
    }
    const forMachines = c.req.path.startsWith("/api/");
    return forMachines ? answerError(c, error) : answerErrorPage(c, error, pageDeps);
  }
  app.onError((thrown, c) => answerFailure(c, thrown));
  app.notFound((c) => answerFailure(c, new AppError("not_found", "There is no such page.")));

  return {
    fetch: (request: Request, env?: unknown) => app.fetch(request, (env ?? {}) as WebEnv["Bindings"]),
    /** All routes, for tests: `GET /api/alerts/:id`. */
    routes: [
      ...new Set(app.routes.filter(({ method }) => method !== "ALL").map(({ method, path }) => `${method} ${path}`)),
    ],
    close(): void {
      closing.abort();
      streams.close();
    },
  };
}

function addPages(app: Hono<WebEnv>, deps: PageDeps, document: () => ApiDocument): void {
  addLoginPages(app, deps);
  addHealth(app, deps);
  addLogPage(app, deps);
  addAlertPage(app, deps);
  addResendPage(app, deps);
  addDestinationsPage(app, deps);
  addRoutesPage(app, deps);
  addMutesPage(app, deps);
  addWatchPages(app, deps);
  addSystemPages(app, deps, document);
}
