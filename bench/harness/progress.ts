/** Prints progress with the time since the start of the command (`3:07`). */
export function say(text: string): void {
  const seconds = Math.floor(performance.now() / 1000);
  console.error(`${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} ${text}`);
}
