import type { Context, Hono } from "hono";
import { AppError } from "../../core/errors.ts";
import { countRefused, type StatusView } from "../../core/operations.ts";
import type { WatchVerdict, WatchView } from "../../core/ports/watch.ts";
import { readField, readForm } from "../form.ts";
import type { WebEnv } from "../web-env.ts";
import { Chip, verdictTones } from "./delivery-chips.tsx";
import { Form } from "./form-element.tsx";
import { type Frame, frameOf, type PageDeps } from "./frame.ts";
import { Instant } from "./instants.tsx";
import { CodeBlock, Layout, Notice } from "./layout.tsx";

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
    const sources = hooks.map(({ name, url }) => ({ name, url: show(url.reveal()) }));
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
  sources: { name: string; url: string }[];
  isRevealed: boolean;
  /** Or why it cannot be had. */
  status: StatusView | AppError;
  /** What came of putting the account's outputs back just now. */
  done?: "put-back" | "unchanged";
}

function SetupPage({ frame, hookUrl, sources, isRevealed, status, done }: SetupPageProps) {
  return (
    <Layout frame={frame} at="/setup">
      {status instanceof AppError && <Notice kind="failed">{status.message}</Notice>}
      {!(status instanceof AppError) && status.watches.length > 0 && (
        <section aria-labelledby="watches-title">
          <h2 id="watches-title">What it watches</h2>
          {done === "put-back" && <Notice kind="done">Put back, and read back: the account sends here again.</Notice>}
          {done === "unchanged" && <Notice kind="done">Nothing had to be put back.</Notice>}
          {status.watches.map((watch) => (
            <WatchFacts watch={watch} frame={frame} status={status} />
          ))}
        </section>
      )}
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
      {sources.length > 0 && (
        <section aria-labelledby="sources-title">
          <h2 id="sources-title">Sources</h2>
          <p>
            Each has an address of its own (<code>sources</code> in the configuration). What comes by it is called by
            its name.
          </p>
          {sources.map(({ name, url }) => (
            <SourceFacts name={name} url={url} status={status} now={frame.now} />
          ))}
        </section>
      )}
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

function SourceFacts({
  name,
  url,
  status,
  now,
}: {
  name: string;
  url: string;
  status: StatusView | AppError;
  now: number;
}) {
  const view = status instanceof AppError ? undefined : status.sources.find((source) => source.name === name);
  return (
    <article class="destination">
      <header>
        <h3>{name}</h3>
      </header>
      <code class="secret">{url}</code>
      <dl class="facts">
        {view !== undefined && (
          <>
            <dt>Accepted</dt>
            <dd>
              {view.accepted} {view.accepted === 1 ? "request" : "requests"} since the start
              {view.lastAcceptedAt !== undefined && (
                <>
                  , the last <Instant at={view.lastAcceptedAt} now={now} show="relative" />
                </>
              )}
            </dd>
            <dt>Its sender proves itself by</dt>
            <dd>{view.checks.length === 0 ? "this address alone" : view.checks.join(" and ")}</dd>
            {view.checks.length > 0 && (
              <>
                <dt>Refused</dt>
                <dd>
                  <a href={`/refused?source=${name}`}>{countRefused(view)} since the start</a>
                  {view.lastRefusedAt !== undefined && (
                    <>
                      , the last <Instant at={view.lastRefusedAt} now={now} show="relative" />
                    </>
                  )}
                </dd>
              </>
            )}
          </>
        )}
        <dt>Alerts</dt>
        <dd>
          <a href={`/?source=${name}`}>in the log</a>
        </dd>
      </dl>
    </article>
  );
}

const verdictWords: Record<WatchVerdict, string> = {
  well: "well",
  trouble: "trouble",
  unknown: "cannot tell",
  idle: "idle",
};

function WatchFacts({ watch, frame, status }: { watch: WatchView; frame: Frame; status: StatusView }) {
  const { name, verdict, summary, troubles, lookedAt } = watch;
  return (
    <article class={`destination ${verdictTones[verdict]}`}>
      <header>
        <h3>{name}</h3>
        <Chip tone={verdictTones[verdict]}>{verdictWords[verdict]}</Chip>
      </header>
      {troubles.length === 0 && <p dir="auto">{sentence(summary)}</p>}
      {troubles.length > 0 && (
        <div class="trouble">
          {troubles.map((trouble) => (
            <p dir="auto">{trouble}</p>
          ))}
        </div>
      )}
      {name === "account" && <AccountFacts frame={frame} account={status.account} />}
      {status.sources.map(
        ({ name: source, account }) =>
          account !== undefined &&
          name === `account:${source}` && <AccountFacts frame={frame} account={account} source={source} />,
      )}
      {lookedAt !== undefined && (
        <p class="soft">
          Looked <Instant at={lookedAt} now={frame.now} show="relative" />.
        </p>
      )}
    </article>
  );
}

interface AccountFactsProps {
  frame: Frame;
  account: Pick<StatusView["account"], "answer" | "canPutBack">;
  /** Whose account it is. Default: that of the environment. */
  source?: string;
}

function AccountFacts({ frame, account, source }: AccountFactsProps) {
  const { answer, canPutBack } = account;
  if (answer === undefined) return null;
  const { name, id, keyExpiresAt, webhook, webhookAddress, messengerChannelId } = answer;
  return (
    <>
      <dl class="facts">
        <dt>Account</dt>
        <dd>
          <bdi>{name ?? id ?? "not said"}</bdi>
        </dd>
        <dt>Sends to</dt>
        <dd>{webhook === undefined ? "not said" : targetWords[webhook](webhookAddress ?? "")}</dd>
        <dt>Messenger channel</dt>
        <dd>
          <bdi>{messengerChannelId === undefined ? "not said" : (messengerChannelId ?? "none")}</bdi>
        </dd>
        <dt>Key expires</dt>
        <dd>{keyExpiresAt === undefined ? "not said" : <Instant at={keyExpiresAt} now={frame.now} isComing />}</dd>
      </dl>
      {canPutBack && (
        <Form frame={frame} action="/setup/put-back">
          {source !== undefined && <input type="hidden" name="source" value={source} />}
          <button type="submit" class="primary">
            Put back: let the account send here
          </button>
        </Form>
      )}
    </>
  );
}

const targetWords: Record<
  NonNullable<NonNullable<StatusView["account"]["answer"]>["webhook"]>,
  (address: string) => string
> = {
  here: () => "this relay",
  stranger: (address) => `${address}, this relay, with a secret that it does not take`,
  elsewhere: (address) => `${address}, not to this relay`,
  answered: (address) => `${address}, another address than the registered one; this relay answers there`,
  nowhere: () => "no webhook",
};

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
