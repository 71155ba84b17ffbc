/** Places at the left, messages in the middle, requests at the right. On a phone they are below each other. */
export const boardStyle = `
:root { color-scheme: light dark;
  --back: light-dark(#e4e9ee, #0f151b); --surface: light-dark(#ffffff, #18212a); --raised: light-dark(#f4f6f8, #1f2a35);
  --line: light-dark(#d4dae1, #2f3c49); --own: light-dark(#ffffff, #1f2b37); --person: light-dark(#e2f3d8, #24402f);
  --code: light-dark(#eef1f4, #121a22); --ink: light-dark(#17202a, #e8edf2); --soft: light-dark(#55626f, #9fadba);
  --accent: light-dark(#0b66a8, #6cb8f0); --good: light-dark(#1d7a3e, #67c98a); --bad: light-dark(#b3261e, #ff8a80); }
* { box-sizing: border-box; }
html, body { height: 100%; }
body { margin: 0; display: flex; flex-direction: column; background: var(--back); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
a { color: var(--accent); }
h1, h2, p, ol { margin: 0; padding: 0; }
h2 { font-size: 14px; margin-bottom: 8px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
summary { cursor: pointer; }
.banner { background: var(--raised); border-bottom: 1px solid var(--line); color: var(--soft); font-size: 13px;
  padding: 6px 14px; }
.banner b { color: var(--ink); }
#live-state { float: right; color: var(--good); }
#live-state.lost, .status.bad { color: var(--bad); }
.quiet { color: var(--soft); font-size: 13px; }
main { flex: 1; min-height: 0; display: grid; grid-template-columns: 250px minmax(0, 1fr) 290px; }
.places { background: var(--surface); border-right: 1px solid var(--line); overflow-y: auto; }
.places h2 { margin: 12px 14px 4px; color: var(--soft); font-size: 13px; }
.places a { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 8px; padding: 8px 14px; color: inherit;
  text-decoration: none; }
.places a:hover { background: var(--raised); }
.places a[aria-current] { background: var(--raised); box-shadow: inset 3px 0 0 var(--accent); }
.title { font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.count { color: var(--soft); font-size: 13px; }
.place { display: flex; flex-direction: column; min-width: 0; min-height: 0; }
.place-head { background: var(--surface); border-bottom: 1px solid var(--line); padding: 8px 16px; }
.place-head h1 { font-size: 17px; line-height: 1.3; overflow-wrap: anywhere; }
.place-head p { color: var(--soft); font-size: 13px; }
.messages { flex: 1; min-height: 0; overflow-y: auto; list-style: none; padding: 14px 16px 20px; display: flex;
  flex-direction: column; gap: 8px; }
.mark { align-self: center; color: var(--soft); font-size: 13px; padding: 4px 10px; }
.message { align-self: flex-start; max-width: min(42rem, 92%); min-width: 12rem; background: var(--own);
  border-radius: 4px 12px 12px 12px; padding: 7px 12px 6px; box-shadow: 0 1px 1px rgb(0 0 0 / 12%);
  scroll-margin: 12px; }
.message.person { align-self: flex-end; background: var(--person); border-radius: 12px 4px 12px 12px; }
.message:target { box-shadow: 0 0 0 2px var(--accent); }
.message.new { animation: arrive 1.6s ease-out; }
@keyframes arrive { from { box-shadow: 0 0 0 3px var(--accent); } to { box-shadow: 0 1px 1px rgb(0 0 0 / 12%); } }
@media (prefers-reduced-motion: reduce) { .message.new { animation: none; } }
.slack .message, .mail .message { border-radius: 4px; border: 1px solid var(--line); align-self: stretch;
  max-width: 46rem; }
.discord .message { border-radius: 8px; max-width: 34rem; }
.ntfy .message { border-radius: 18px; max-width: 24rem; }
.ntfy .from { display: none; }
.from { color: var(--accent); font-size: 13px; font-weight: 600; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.text p { min-height: 0.6em; }
.text h3 { margin: 0; font-size: 15px; }
.text code, .text pre { background: var(--code); border-radius: 4px;
  font: 13px/1.45 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
.text code { padding: 1px 4px; }
.text pre { margin: 4px 0; padding: 8px; white-space: pre-wrap; }
.text blockquote { margin: 4px 0; padding: 2px 10px; border-left: 3px solid var(--accent); color: var(--soft); }
.text .instant { border-bottom: 1px dotted var(--soft); }
.text .link { text-decoration: underline; }
.picture { display: block; max-width: 100%; height: auto; margin: 6px 0; border-radius: 8px; }
.text iframe { width: 100%; height: 320px; resize: vertical; border: 1px solid var(--line); background: #ffffff;
  color-scheme: light; }
.embed { position: relative; margin-top: 6px; padding: 8px 12px 8px 16px; background: var(--raised);
  border-radius: 4px; overflow: hidden; font-size: 14px; }
.embed .bar { position: absolute; inset: 0 auto 0 0; width: 4px; height: 100%; }
.reply { display: grid; margin: 4px 0; padding: 2px 8px; border-left: 3px solid var(--accent);
  background: var(--raised); color: inherit; text-decoration: none; font-size: 13px; }
.reply span { color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.meta { display: flex; gap: 8px; justify-content: flex-end; color: var(--soft); font-size: 12px; }
.meta :first-child { margin-right: auto; }
.edited { font-style: italic; }
details { margin-top: 4px; font-size: 13px; color: var(--soft); }
.earlier { margin-top: 4px; padding-top: 4px; border-top: 1px dashed var(--line); }
aside { background: var(--surface); border-left: 1px solid var(--line); overflow-y: auto; padding: 12px 14px;
  display: flex; flex-direction: column; gap: 20px; }
.calls ol { list-style: none; display: grid; gap: 6px; }
.calls li { display: grid; grid-template-columns: 3em minmax(0, 1fr) auto; gap: 0 8px; font-size: 13px; }
.clock { color: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
.status { font-weight: 600; color: var(--good); }
.why { grid-column: 2 / -1; color: var(--soft); overflow-wrap: anywhere; }
.faults form { display: grid; gap: 8px; font-size: 13px; }
select, button { font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--line);
  border-radius: 6px; padding: 6px 8px; min-height: 36px; width: 100%; }
button { cursor: pointer; font-weight: 600; }
@media (max-width: 900px) {
  html, body { height: auto; min-height: 100%; }
  main { display: flex; flex-direction: column; }
  .places { display: flex; overflow-x: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  .places h2 { display: none; }
  .places a { flex: 0 0 auto; max-width: 70vw; }
  .messages { padding: 12px 10px; max-height: 75vh; }
  .message { max-width: 96%; }
  aside { border-left: 0; border-top: 1px solid var(--line); }
}
`;
