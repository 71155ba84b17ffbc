import type { Hono } from "hono";
import type { Trouble } from "../../contract/operations.ts";
import { describeHealth, describeTrouble, helpsOf } from "../../panels/health.ts";
import { type Frame, frameOf, type PageDeps, type WebEnv } from "../web-env.ts";
import { Mark } from "./delivery-chips.tsx";
import { Act, Text } from "./panel.tsx";

/** `GET /strip`: only the line of health, for the script of open pages. */
export function addHealth(app: Hono<WebEnv>, deps: PageDeps): void {
  app.get("/strip", (c) => c.render(<Health frame={frameOf(c, deps)} />));
}

/** The most troubles above the fold, so the rest of the page stays visible on a phone. */
const mostOpen = 3;

/** The most troubles of the unfolded list: every page has it, and one server may trouble a hundred destinations. */
const mostListed = 30;

/** Without this line a silent log looks like a quiet market. Each trouble has the button that helps. */
export async function Health({ frame }: { frame: Frame }) {
  const health = await frame.health();
  const { troubles } = health;
  const { tone, text } = describeHealth(health);
  const open = troubles.slice(0, troubles.length === mostOpen + 1 ? mostOpen + 1 : mostOpen);
  const rest = troubles.slice(open.length);
  return (
    <div class="health" data-live="health">
      {troubles.length === 0 ? (
        <p class={`all ${tone}`}>
          <Mark tone={tone} />
          <Text cell={text} frame={frame} />
        </p>
      ) : (
        <section class="strip" aria-label="What is wrong now">
          <Lines troubles={open} frame={frame} />
          {rest.length > 0 && (
            <details>
              <summary>and {rest.length} more</summary>
              <Lines troubles={rest.slice(0, mostListed)} frame={frame} />
              {rest.length > mostListed && (
                <p>
                  and {rest.length - mostListed} more, see <a href="/destinations">Destinations</a> and{" "}
                  <a href="/system">System</a>
                </p>
              )}
            </details>
          )}
        </section>
      )}
    </div>
  );
}

function Lines({ troubles, frame }: { troubles: Trouble[]; frame: Frame }) {
  return (
    <ul>
      {troubles.map((trouble) => (
        <li class={`notice ${trouble.level}`}>
          <p>
            <Text cell={describeTrouble(trouble)} frame={frame} />{" "}
            {trouble.reason !== undefined && (
              <span class="soft on-desk" dir="auto">
                {trouble.reason}
              </span>
            )}
          </p>
          <div class="row">
            {helpsOf(trouble).map((help) => (
              <Act act={help} frame={frame} />
            ))}
          </div>
        </li>
      ))}
    </ul>
  );
}
