import type { Context, Hono } from "hono";
import type { StatusView } from "../../contract/operations.ts";
import { type KnownSource, sourcesPanel } from "../../contract/panels/sources.ts";
import { type putBackWords, watchesPanel } from "../../contract/panels/watches.ts";
import { AppError } from "../../core/errors.ts";
import { readField, readForm } from "../form.ts";
import type { WebEnv } from "../web-env.ts";
import { Form } from "./form-element.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { CodeBlock, Layout, Notice } from "./layout.tsx";
import { PanelView } from "./panel.tsx";

/**
 * `GET /setup`: what is watched, where senders post to, and how to try it. The address holds the hook's secret, so it is
 * masked; `POST /setup`, the press of a button, answers the same page with it. No address ever shows it.
 */
export function addSetupPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const render = async (c: Context<WebEnv>, isRevealed: boolean) => {
    const status = await deps.operations.status().catch(asAppError);
    const hookUrl = deps.hookUrl().reveal();
    const show = (url: string) => (isRevealed ? url : url.replace(/(?<![^/])[^/]+$/, "…"));
    const shown = show(hookUrl);
    const hooks = deps.sourceHooks?.() ?? [];
    const sources = hooks.map(({ name, url }): KnownSource => {
      const view = status instanceof AppError ? undefined : status.sources.find((source) => source.name === name);
      return { name, address: show(url.reveal()), view };
    });
    const frame = frameOf(c, deps);
    const done = readDone(c.req.query("done"));
    return c.render(<SetupPage {...{ frame, hookUrl: shown, sources, isRevealed, status, done }} />);
  };
  app.get("/setup", (c) => render(c, false));
  app.post("/setup", (c) => {
    deps.log.info("hook.address_shown");
    return render(c, true);
  });
  app.post("/setup/put-back", async (c) => {
    deps.log.info("account.put_back_asked");
    const source = readField(await readForm(c), "source");
    const result = await deps.operations.putBackOutputs(source === "" ? undefined : source);
    return c.redirect(`/setup?done=${result}#watches-title`, 303);
  });
}

/** Only words of ours are taken from the address, so that no link can put others into our mouth. */
function readDone(text: string | undefined): SetupPageProps["done"] {
  return text === "put-back" || text === "unchanged" ? text : undefined;
}

/** The page is needed most when the store does not answer: it then shows this error in place of the status. */
function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

interface SetupPageProps {
  frame: Frame;
  hookUrl: string;
  sources: KnownSource[];
  isRevealed: boolean;
  /** Or why it cannot be had. */
  status: StatusView | AppError;
  /** What came of putting the account's outputs back just now. */
  done?: keyof typeof putBackWords;
}

function SetupPage({ frame, hookUrl, sources, isRevealed, status, done }: SetupPageProps) {
  return (
    <Layout frame={frame} at="/setup">
      {status instanceof AppError && <Notice kind="failed">{status.message}</Notice>}
      {!(status instanceof AppError) && <PanelView panel={watchesPanel(status, done)} frame={frame} />}
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
      <PanelView panel={sourcesPanel(sources)} frame={frame} />
      <section aria-labelledby="try-title">
        <h2 id="try-title">Try it</h2>
        <p>
          <code>tocsin test</code> sends one marked alert as a sender would and waits for each destination. From any
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
          can be read from it is shown on the alert's page beside the body as received.
        </p>
      </section>
    </Layout>
  );
}
