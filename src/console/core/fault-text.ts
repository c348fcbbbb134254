import { foundExpected, JA_ERRORS } from '../words/ja-errors.js'
import { t } from './i18n.js'
import { oneLine, type Said } from './reason.js'
import { isFault } from './rpc.js'
import { currentSettings } from './settings.js'

/** Text of an error in one line. */
export function faultText(error: unknown): string {
  return oneLine(faultParts(error))
}

/** Text of an error, with advice for a lost connection and a missing scope. */
export function faultParts(error: unknown): Said {
  // what browsers throw for a file or module that does not come
  if (error instanceof TypeError && /fetch|load|import/i.test(error.message))
    return { text: t('networkFault') }
  const isJapanese = currentSettings().language === 'ja'
  if (!isFault(error)) {
    const message = error instanceof Error ? error.message : String(error)
    return isJapanese ? { text: t('failed'), detail: message } : { text: `${t('failed')}: ${message}` }
  }
  const { faultName, data, message } = error
  if (faultName === 'NETWORK') return { text: t('networkFault') }
  if (faultName === 'FORBIDDEN') return { text: t('forbiddenFault', { scope: String(data.scope ?? '') }) }
  const english = `${faultName}: ${message}`
  return isJapanese ? { text: japaneseOf(faultName, data), detail: english } : { text: english }
}

/** Reason of a refused value in the language of the page; the gateway's words where it has no sentence for them. */
export function valueFaultText(reason: string): string {
  return (currentSettings().language === 'ja' ? foundExpected(reason) : undefined) ?? reason
}

/** Meaning of an error in the language of the page. @param english the gateway's own words */
export function errorSentence(name: string, english: string): string {
  return (currentSettings().language === 'ja' ? JA_ERRORS[name] : undefined) ?? english
}

function japaneseOf(name: string, data: Record<string, unknown>): string {
  const sentence = JA_ERRORS[name] ?? t('failed')
  const { place, reason } = firstFault(data)
  const value = reason === undefined ? undefined : foundExpected(reason)
  if (value === undefined) return sentence
  return place === '' ? `${sentence}。${value}` : `${sentence}。${place}: ${value}`
}

/** The first value that was refused: its place, and `found …, expected …`. */
function firstFault({ faults, column, reason }: Record<string, unknown>): { place: string; reason?: string } {
  const [first] = Array.isArray(faults) ? (faults as { path?: unknown; message?: unknown }[]) : []
  if (first !== undefined)
    return { place: String(first.path ?? '').replace(/^\$\.?/, ''), reason: String(first.message) }
  return typeof reason === 'string'
    ? { place: typeof column === 'string' ? column : '', reason }
    : { place: '' }
}
