import type { Context, Hono } from "hono";
import type { WebEnv } from "../web-env.ts";
import { CodeBlock } from "./code-block.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Form, Layout } from "./layout.tsx";

/**
 * `GET /setup`: where senders post to, and how to try it. The address holds the hook's secret, so it is masked; `POST /setup`, the
 * press of a button, answers the same page with it. No address ever shows it.
 */
export function addSetupPage(app: Hono<WebEnv>, deps: PageDeps): void {
  const render = (c: Context<WebEnv>, isRevealed: boolean) => {
    const hookUrl = deps.hookUrl().reveal();
    const shown = isRevealed ? hookUrl : hookUrl.replace(/(?<![^/])[^/]+$/, "…");
    return c.html(<SetupPage frame={frameOf(c, deps)} hookUrl={shown} isRevealed={isRevealed} />);
  };
  app.get("/setup", (c) => render(c, false));
  app.post("/setup", (c) => {
    deps.log.info("hook.address_shown");
    return render(c, true);
  });
}

function SetupPage({ frame, hookUrl, isRevealed }: { frame: Frame; hookUrl: string; isRevealed: boolean }) {
  return (
    <Layout frame={frame} title="Setup" section="/setup">
      <h1>Setup</h1>
      <section aria-labelledby="hook-title">
        <h2 id="hook-title">Where alerts are sent to</h2>
        <p>
          <code>tocsin setup</code> registers this address with the alerting service and can undo it. For
          other senders, enter it as their webhook address.
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
          <code>tocsin test</code> sends one marked alert the whole real way and waits for each destination.
          From any machine:
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
          The answer is <code>202</code> with the alert's id once it is on disk. Any JSON, form or text is
          taken; what can be read from it is shown on the alert's page beside the body as it came.
        </p>
      </section>
    </Layout>
  );
}
