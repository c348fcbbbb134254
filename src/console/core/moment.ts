/**
 * Times as the console shows them. English has the form `28 Nov 2026, 14:05`, which no country reads as another
 * day; Japanese has its own, `2026/11/28 14:05`.
 *
 * @param timeZone that of the browser by default
 */
export function momentText(date: Date, language: 'en' | 'ja', timeZone?: string): string {
  const zone = timeZone === undefined ? {} : { timeZone }
  if (language === 'ja')
    return new Intl.DateTimeFormat('ja', { ...zone, dateStyle: 'medium', timeStyle: 'short' }).format(date)
  const parts = new Intl.DateTimeFormat('en', {
    ...{ ...zone, day: 'numeric', month: 'short', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  }).formatToParts(date)
  const of = (wanted: Intl.DateTimeFormatPartTypes) => parts.find(({ type }) => type === wanted)?.value ?? ''
  return `${of('day')} ${of('month')} ${of('year')}, ${of('hour')}:${of('minute')}`
}

/** Time of day, `14:05` in each language. */
export function clockText(ms: number, timeZone?: string): string {
  const zone = timeZone === undefined ? {} : { timeZone }
  const format = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  return new Intl.DateTimeFormat('en', { ...zone, ...format }).format(ms)
}
