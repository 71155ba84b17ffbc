import type { Context, Hono } from "hono";
import { AppError } from "../../core/errors.ts";
import type { StatusView } from "../../core/operations.ts";
import { formatBytes } from "../../ground/text/format-bytes.ts";
import type { WebEnv } from "../web-env.ts";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant } from "./instants.tsx";
import { CodeBlock, Form, Layout, Notice } from "./layout.tsx";

/**
 * `GET /setup`: where senders post to, how to try it, and how the relay is. The address holds the hook's secret, so
 * it is masked; `POST /setup`, the press of a button, answers the same page with it. No address ever shows it.
 */
export function addSetupPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const render = async (c: Context<WebEnv>, isRevealed: boolean) => {
    const status = await deps.operations.status().catch(asAppError);
    const hookUrl = deps.hookUrl().reveal();
    const shown = isRevealed ? hookUrl : hookUrl.replace(/(?<![^/])[^/]+$/, "…");
    const frame = frameOf(c, deps);
    return c.html(<SetupPage frame={frame} hookUrl={shown} isRevealed={isRevealed} status={status} />);
  };
  app.get("/setup", (c) => render(c, false));
  app.post("/setup", (c) => {
    deps.log.info("hook.address_shown");
    return render(c, true);
  });
}

/** The page is needed most when the store does not answer: it then shows this error in place of the status. */
function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

interface SetupPageProps {
  frame: Frame;
  hookUrl: string;
  isRevealed: boolean;
  /** Or why it cannot be had. */
  status: StatusView | AppError;
}

function SetupPage({ frame, hookUrl, isRevealed, status }: SetupPageProps) {
  return (
    <Layout frame={frame} title="Setup" section="/setup">
      <h1>Setup</h1>
      <section aria-labelledby="hook-title">
        <h2 id="hook-title">Where alerts are sent to</h2>
        <p>
          <code>tocsin setup</code> registers this address with the alerting service and can undo it. For other senders,
          enter it as their webhook address.
        </p>
        <div class="tools">
          <code id="hook" class="secret">
            {hookUrl}
          </code>
          {isRevealed ? (
            <>
              <button type="button" data-copy="hook" hidden>
                Copy
              </button>
              <a href="/setup">Hide</a>
            </>
          ) : (
            <Form frame={frame} action="/setup" class="inline">
              <button type="submit">Show the secret part</button>
            </Form>
          )}
        </div>
        <p class="soft">Whoever knows it can send alerts. It cannot be used to read anything.</p>
      </section>
      <section aria-labelledby="try-title">
        <h2 id="try-title">Try it</h2>
        <p>
          <code>tocsin test</code> sends one marked alert the whole real way and waits for each destination. From any
          machine:
        </p>
        {isRevealed && (
          <div class="tools">
            <button type="button" data-copy="curl" hidden>
              Copy
            </button>
          </div>
        )}
        <CodeBlock
          id="curl"
          text={`curl -sS '${hookUrl}' \\\n  -H 'content-type: application/json' \\\n  -d '{"title":"Test from curl","severity":"info"}'`}
        />
        <p>
          The answer is <code>202</code> with the alert's id once it is on disk. Any JSON, form or text is taken; what
          can be read from it is shown on the alert's page beside the body as it came.
        </p>
      </section>
      <section aria-labelledby="relay-title">
        <h2 id="relay-title">The relay</h2>
        {status instanceof AppError ? (
          <Notice kind="failed">{status.message}</Notice>
        ) : (
          <RelayFacts status={status} now={frame.now} />
        )}
      </section>
    </Layout>
  );
}

function RelayFacts({ status: { relay, queue, disk, account }, now }: { status: StatusView; now: number }) {
  return (
    <>
      {!relay.ready && <Notice kind="failed">Not ready: {relay.reasons.join("; ")}.</Notice>}
      <dl class="facts">
        <dt>Version</dt>
        <dd>{relay.version}</dd>
        <dt>Started</dt>
        <dd>
          <Instant at={relay.startedAt} now={now} />
        </dd>
        <dt>Public address</dt>
        <dd>{account.publicUrl ?? "not set (PUBLIC_URL): nobody outside can be given an address to send to"}</dd>
        <dt>Not routed yet</dt>
        <dd>
          {queue.unrouted}
          {queue.oldestUnroutedAt !== undefined && (
            <>
              , the oldest <Instant at={queue.oldestUnroutedAt} now={now} show="relative" />
            </>
          )}
        </dd>
        {relay.unreadableAlerts > 0 && (
          <>
            <dt>Unreadable</dt>
            <dd>{relay.unreadableAlerts} since the start, sent as they came</dd>
          </>
        )}
        <dt>Database</dt>
        <dd>{formatBytes(disk.databaseBytes)}</dd>
        {disk.freeBytes !== undefined && (
          <>
            <dt>Disk</dt>
            <dd>{formatBytes(disk.freeBytes)} free</dd>
          </>
        )}
      </dl>
      <p class="soft">
        <code>tocsin status</code> and <code>GET /api/status</code> say the same; <code>tocsin doctor</code> also asks
        the alerting service and each destination.
      </p>
    </>
  );
}
