/** Pages that show messages: their places at the left, the messages, and the requests at the right. */
export const messagesStyle = `
:root { --own: #ffffff; --person: #e2f3d8; --code: #eef1f4; }
@media (prefers-color-scheme: dark) { :root { --own: #1f2b37; --person: #24402f; --code: #121a22; } }
:focus-visible { outline-offset: 2px; }
main { grid-template-columns: 250px minmax(0, 1fr) 290px; }
.chats { background: var(--surface); border-right: 1px solid var(--line); overflow-y: auto; }
.chats a { display: grid; grid-template-columns: 1fr auto; gap: 0 8px; padding: 10px 14px; color: inherit;
  text-decoration: none; border-bottom: 1px solid var(--line); }
.chats a:hover { background: var(--raised); }
.chats a[aria-current] { background: var(--raised); box-shadow: inset 3px 0 0 var(--accent); }
.chats .title { font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.chats .count { color: var(--soft); font-size: 13px; font-variant-numeric: tabular-nums; }
.chats .last { grid-column: 1 / -1; color: var(--soft); font-size: 13px; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
.chat { display: flex; flex-direction: column; min-width: 0; min-height: 0; }
.chat-head { background: var(--surface); border-bottom: 1px solid var(--line); padding: 8px 16px; }
.chat-head h1 { font-size: 17px; line-height: 1.3; overflow-wrap: anywhere; }
.chat-head p { color: var(--soft); font-size: 13px; }
.chat-head code { font-size: 12px; }
.messages { flex: 1; min-height: 0; overflow-y: auto; list-style: none; padding: 14px 16px 20px; display: flex;
  flex-direction: column; gap: 8px; }
.mark { align-self: center; color: var(--soft); font-size: 13px; padding: 4px 10px; text-align: center; }
.message { align-self: flex-start; max-width: min(42rem, 92%); min-width: 12rem; background: var(--own);
  border-radius: 4px 12px 12px 12px; padding: 7px 12px 6px; box-shadow: 0 1px 1px rgb(0 0 0 / 12%);
    scroll-margin: 12px; }
.message .picture { display: block; max-width: 100%; height: auto; margin: 6px 0; border-radius: 8px; }
.message.person { align-self: flex-end; background: var(--person); border-radius: 12px 4px 12px 12px; }
.message:target { box-shadow: 0 0 0 2px var(--accent); }
.message.new { animation: arrive 1.6s ease-out; }
@keyframes arrive { from { box-shadow: 0 0 0 3px var(--accent); } to { box-shadow: 0 1px 1px rgb(0 0 0 / 12%); } }
@media (prefers-reduced-motion: reduce) { .message.new { animation: none; } }
.from { color: var(--accent); font-size: 13px; font-weight: 600; }
.topic { color: var(--soft); font-weight: 400; margin-left: 8px; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.text code, .text pre { background: var(--code); border-radius: 4px;
  font: 13px/1.45 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
.text code { padding: 1px 4px; }
.text pre { margin: 4px 0; padding: 8px; white-space: pre-wrap; }
.text blockquote { margin: 4px 0; padding: 2px 10px; border-left: 3px solid var(--accent); color: var(--soft); }
.text .instant { border-bottom: 1px dotted var(--soft); }
.text .spoiler { background: var(--soft); color: transparent; border-radius: 3px; }
.text .spoiler:hover { background: none; color: inherit; }
.text .link { text-decoration: underline; }
.reply { display: grid; margin: 4px 0; padding: 2px 8px; border-left: 3px solid var(--accent);
  background: var(--raised); border-radius: 0 4px 4px 0; color: inherit; text-decoration: none; font-size: 13px; }
.reply span { color: var(--soft); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.meta { display: flex; gap: 8px; justify-content: flex-end; color: var(--soft); font-size: 12px;
  font-variant-numeric: tabular-nums; }
.meta :first-child { margin-right: auto; }
.edited { font-style: italic; }
details { margin-top: 4px; font-size: 13px; color: var(--soft); }
.earlier { margin-top: 4px; padding-top: 4px; border-top: 1px dashed var(--line); }
aside { background: var(--surface); border-left: 1px solid var(--line); overflow-y: auto; padding: 12px 14px;
  display: flex; flex-direction: column; gap: 20px; }
.calls ol { list-style: none; display: grid; gap: 6px; }
.calls li { display: grid; grid-template-columns: 3em 1fr auto; gap: 0 8px; font-size: 13px; align-items: baseline; }
.calls time { color: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
.status { font-weight: 600; font-variant-numeric: tabular-nums; }
.status.good { color: var(--good); }
.status.bad { color: var(--bad); }
.why { grid-column: 2 / -1; color: var(--soft); overflow-wrap: anywhere; }
.faults .check { display: flex; align-items: center; gap: 6px; }
@media (max-width: 900px) {
  body { height: auto; min-height: 100%; }
  main { display: flex; flex-direction: column; }
  .chats { display: flex; overflow-x: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  .chats a { flex: 0 0 auto; max-width: 70vw; border-bottom: 0; border-right: 1px solid var(--line);
    padding: 8px 14px; }
  .chats a[aria-current] { box-shadow: inset 0 -3px 0 var(--accent); }
  .chats .last { display: none; }
  .chat { flex: 1; }
  .messages { padding: 12px 10px; max-height: 75vh; }
  .message { max-width: 96%; }
  aside { border-left: 0; border-top: 1px solid var(--line); }
}
`;
