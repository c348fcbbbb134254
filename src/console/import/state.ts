/** Files that were dropped or chosen, until the page of imports takes them. */
let offered: readonly File[] = []
/** Result of an import, until the page of its table shows it. */
let news: { table: string; text: string } | undefined
/** Form that takes files now. */
let taker: { take(files: readonly File[]): void; isShown(): boolean } | undefined

/** Hands files to the form of imports that is shown, or opens the page that has one. */
export function offerFiles(files: readonly File[]): void {
  if (taker?.isShown() === true) taker.take(files)
  else {
    offered = files
    location.hash = '#/import'
  }
}

/** Sets the form that takes files while it is shown. */
export function takeOffered(next: typeof taker): void {
  taker = next
  if (next === undefined || offered.length === 0) return
  const files = offered
  offered = []
  next.take(files)
}

/** Keeps a text for the page of a table. */
export function leaveNews(table: string, text: string): void {
  news = { table, text }
}

/** Text that was left for the page of a table; it is shown once. */
export function takeNews(table: string): string | undefined {
  const text = news?.table === table ? news.text : undefined
  if (text !== undefined) news = undefined
  return text
}
