/** `name`: the link in the second line. `asks`: the question that the page answers, also its title. */
const rooms = [
  { name: "Alerts", pages: [{ path: "/", name: "Log", asks: "What rang?" }] },
  {
    name: "Destinations",
    pages: [{ path: "/destinations", name: "Destinations", asks: "Does each destination work?" }],
  },
  {
    name: "Rules",
    pages: [
      { path: "/routes", name: "Routes", asks: "Who gets which alert?" },
      { path: "/mutes", name: "Mutes", asks: "What is muted?" },
    ],
  },
  {
    name: "Watch",
    pages: [
      { path: "/setup", name: "Account", asks: "Where do alerts come from?" },
      { path: "/gaps", name: "Gaps", asks: "Is an alert missing?" },
      { path: "/silence", name: "Silence", asks: "Is it too quiet?" },
      { path: "/shapes", name: "Shapes", asks: "What are alerts made of?" },
      { path: "/refused", name: "Refused", asks: "What was refused?" },
    ],
  },
] as const;

/** The room behind the mark. */
const system = {
  name: "System",
  pages: [
    { path: "/system", name: "System", asks: "How does Tocsin run?" },
    { path: "/api", name: "API", asks: "How does a script use Tocsin?" },
  ],
} as const;

type Room = (typeof rooms)[number] | typeof system;
export type PagePath = Room["pages"][number]["path"];

const roomOf = (at: PagePath) => [...rooms, system].find(({ pages }) => pages.some(({ path }) => path === at));

export const questionOf = (at: PagePath) => roomOf(at)?.pages.find(({ path }) => path === at)?.asks;

/** `at`: the shown page, or the page that it belongs to. */
export function Rooms({ at, icon }: { at?: PagePath; icon: string }) {
  const here = at && roomOf(at);
  const linkOf = (room: Room) => ({
    href: room.pages[0]?.path,
    "aria-current": room !== here ? undefined : room.pages[0]?.path === at ? ("page" as const) : ("true" as const),
  });
  return (
    <nav class="rooms" aria-label="Rooms">
      <a class="brand" {...linkOf(system)}>
        <img src={icon} alt="" width="20" height="20" />
        <span>Tocsin</span>
      </a>
      {rooms.map((room) => (
        <a {...linkOf(room)}>{room.name}</a>
      ))}
    </nav>
  );
}

export function PagesOfRoom({ at }: { at: PagePath }) {
  const room = roomOf(at);
  if (room === undefined || room.pages.length < 2) return null;
  return (
    <nav class="pages" aria-label={`Pages of ${room.name}`}>
      {room.pages.map(({ path, name }) => (
        <a href={path} aria-current={path === at ? "page" : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
