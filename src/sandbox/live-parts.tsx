import type { FC } from "hono/jsx";

/** What both pages begin with. */
export const Head: FC<{ title: string }> = ({ title }) => (
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>{title}</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/page.css" />
    <script src="/page.js" defer />
  </head>
);

/** The faults that wait, and what forgets them. */
export const PendingFaults: FC<{ names: string[] }> = ({ names }) => (
  <div id="pending" data-live>
    {names.length > 0 && (
      <form method="post" action="/faults/clear">
        <p>Waiting: {names.join("; ")}</p>
        <button type="submit">Forget them</button>
      </form>
    )}
  </div>
);
