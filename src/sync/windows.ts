const MINUTES_PER_DAY = 1440

/**
 * Reports whether sending is allowed at an instant.
 *
 * @param windows `HH:MM-HH:MM` in local time; a window that ends before it begins spans midnight, one
 *   that ends when it begins is a whole day. An empty list allows any time
 * @param offsetMin local time in minutes east of UTC
 */
export function isWithinWindows(windows: readonly string[], nowUs: number, offsetMin: number): boolean {
  if (windows.length === 0) return true
  const minute = modulo(Math.floor(nowUs / 60_000_000) + offsetMin, MINUTES_PER_DAY)
  return windows.some((window) => {
    const [from = 0, to = 0] = window.split('-').map(minutesOf)
    return from < to ? minute >= from && minute < to : minute >= from || minute < to
  })
}

function minutesOf(text: string): number {
  const [hours, minutes] = text.split(':').map(Number)
  // no test: the schema of sync.windows allows only HH:MM, so the defaults serve the types alone
  return (hours ?? 0) * 60 + (minutes ?? 0)
}

function modulo(a: number, b: number): number {
  return ((a % b) + b) % b
}
