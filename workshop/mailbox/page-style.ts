export const pageStyle = `
main { grid-template-columns: 250px minmax(280px, 380px) minmax(0, 1fr); }
.empty { padding: 14px; }
.side { background: var(--surface); border-right: 1px solid var(--line); overflow-y: auto; display: flex;
  flex-direction: column; justify-content: space-between; }
.mailboxes a { display: grid; grid-template-columns: 1fr auto; gap: 8px; padding: 10px 14px; color: inherit;
  text-decoration: none; border-bottom: 1px solid var(--line); }
.mailboxes a:hover, .mail-line:hover { background: var(--raised); }
.mailboxes a[aria-current], .mail-line[aria-current] { background: var(--raised);
  box-shadow: inset 3px 0 0 var(--accent); }
.mailboxes .title { font-size: 14px; font-weight: 600; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
.mailboxes .count { color: var(--soft); font-size: 13px; font-variant-numeric: tabular-nums; }
.threads { background: var(--surface); border-right: 1px solid var(--line); overflow-y: auto; }
.thread { list-style: none; border-bottom: 1px solid var(--line); }
.mail-line { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 8px; padding: 9px 14px;
  color: inherit; text-decoration: none; font-size: 14px; }
.mail-line .from { color: var(--soft); font-size: 13px; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
.mail-line time { color: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; align-self: center; }
.mail-line .subject { font-weight: 600; overflow-wrap: anywhere; }
.mail-line .size { justify-self: end; align-self: start; min-width: 1.6em; padding: 0 6px; border-radius: 9px;
  background: var(--raised); border: 1px solid var(--line); color: var(--soft); font-size: 12px; text-align: center; }
.mail-line .snippet { grid-column: 1 / -1; color: var(--soft); font-size: 13px; display: -webkit-box;
  -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; overflow-wrap: anywhere; }
.earlier .mail-line { padding: 4px 14px 6px 28px; font-size: 13px; }
.earlier .mail-line .from { display: none; }
.earlier .mail-line .subject { font-weight: 400; grid-row: 1; }
.copies { color: var(--bad); font-size: 12px; }
.mail-line .copies { grid-column: 1 / -1; }
.mail-line.new { animation: arrive 1.6s ease-out; }
@keyframes arrive { from { box-shadow: inset 3px 0 0 3px var(--accent); } to { box-shadow: none; } }
@media (prefers-reduced-motion: reduce) { .mail-line.new { animation: none; } }
.mail { overflow-y: auto; padding: 18px 22px 28px; display: flex; flex-direction: column; gap: 14px; min-width: 0; }
.mail.none { display: grid; place-items: center; }
.mail h1 { font-size: 20px; line-height: 1.3; overflow-wrap: anywhere; }
.mail .back { display: none; font-size: 14px; }
.mail dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 2px 12px; margin-top: 8px;
  font-size: 14px; }
.mail dt { color: var(--soft); }
.mail dd { overflow-wrap: anywhere; }
.mail dd .copies { margin-left: 8px; }
.mail iframe { flex: 1 0 360px; width: 100%; border: 1px solid var(--line); border-radius: 8px;
  background: #ffffff; color-scheme: light; }
.text { margin: 0; padding: 14px; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--surface);
  border: 1px solid var(--line); border-radius: 8px;
    font: 13px/1.5 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
summary { cursor: pointer; color: var(--soft); font-size: 14px; padding: 4px 0; }
table { border-collapse: collapse; font-size: 13px; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 3px 12px 3px 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
th { font-weight: 400; color: var(--soft); white-space: nowrap; }
.faults { padding: 14px; border-top: 1px solid var(--line); }
select { text-overflow: ellipsis; padding-right: 20px; }
@media (max-width: 1000px) {
  main { grid-template-columns: 210px minmax(0, 1fr); }
  .reading .threads, .listing .mail.none { display: none; }
  .mail .back { display: inline-block; margin-bottom: 8px; }
}
@media (max-width: 640px) {
  html, body { height: auto; min-height: 100%; }
  main { flex: none; display: flex; flex-direction: column; }
  .side { display: contents; }
  .mailboxes { display: flex; overflow-x: auto; background: var(--surface); border-bottom: 1px solid var(--line); }
  .mailboxes a { flex: 0 0 auto; max-width: 80vw; border-bottom: 0; border-right: 1px solid var(--line); }
  .mailboxes a[aria-current] { box-shadow: inset 0 -3px 0 var(--accent); }
  .threads { border-right: 0; }
  .mail { padding: 14px; overflow: visible; }
  .mail.none { display: none; }
  .mail iframe { flex: none; height: 60vh; }
  .faults { order: 3; background: var(--surface); }
}
`;
