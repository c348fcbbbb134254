import { JA_ERRORS } from '../words/ja-errors.js'

/** Sentences for what an upstream answers, by HTTP status. */
const BY_STATUS: Record<string, string> = {
  401: '認証に失敗しました。API キーとシークレットを確認してください',
  403: 'API キーに必要なスコープがありません',
  404: 'メソッドまたはストアが見つかりません。エンドポイントを確認してください',
  408: '応答がタイムアウトしました',
  409: '送信先の状態と競合しています',
  413: 'データが大きすぎます',
  429: 'リクエストが多すぎます。しばらくして再試行されます',
  500: '送信先で内部エラーが発生しました',
  502: '送信先が一時的に利用できません',
  503: '送信先が一時的に利用できません',
  504: '送信先が一時的に利用できません',
  507: '送信先のディスクに空きがありません',
}

/** What a page says of a failed attempt. */
interface ReasonParts {
  /** in the language of the page */
  readonly text: string
  /** words of the gateway or of an upstream, in English */
  readonly detail?: string
}

/** Reasons of failed attempts and of parts that are not ready, as the gateway words them. */
const REASONS: readonly (readonly [RegExp, (...parts: string[]) => ReasonParts])[] = [
  [
    /^The upstream answered (\d{3})(?:: (.*))?$/s,
    (status, text) => ({
      text: BY_STATUS[status ?? ''] ?? 'アップストリームに拒否されました',
      detail: `HTTP ${status}${text === undefined ? '' : `: ${text}`}`,
    }),
  ],
  [
    /^The upstream cannot be reached: (.*)$/s,
    (detail = '') => ({
      text: 'アップストリームに接続できません。ネットワークとエンドポイントを確認してください',
      detail,
    }),
  ],
  [
    /^The upstream answered (.*)$/s,
    (detail = '') => ({ text: 'アップストリームから想定外の応答がありました', detail }),
  ],
  [
    /^([A-Z][A-Z_]+): (.*)$/s,
    (name = '', detail = '') => {
      const sentence = JA_ERRORS[name]
      return sentence === undefined ? { text: `${name}: ${detail}` } : { text: sentence, detail }
    },
  ],
  [/^paused by the operator$/, () => ({ text: '送信は一時停止されています' })],
  [/^(\d+) transfers failed permanently$/, (n) => ({ text: `${n} 件の転送が失敗しました` })],
  [
    /^the wall clock is behind .*$/,
    (...rest) => withDetail('デバイスの時計が正しくありません。期限切れの処理は行われません', rest),
  ],
  [
    /^\d+ bytes are free, .*$/,
    (...rest) => withDetail('ディスクの空き容量が不足しています。読み取りは可能です', rest),
  ],
  [
    /^the search (?:worker|thread) did not answer .*$/,
    (...rest) => withDetail('経路検索が応答していません', rest),
  ],
  [/^\S+ cannot be written$/, (...rest) => withDetail('データを書き込めません', rest)],
  [/^\S+ cannot be read$/, (...rest) => withDetail('データを読み取れません', rest)],
  [
    /^a database has damaged pages: .*$/,
    (...rest) => withDetail('データベースが破損しています。バックアップから復元してください', rest),
  ],
  [
    /^\S+ is no longer the file that was opened: .*$/,
    (...rest) =>
      withDetail('データベースのファイルが置き換えられています。ゲートウェイを再起動してください', rest),
  ],
  [/^the gateway is stopping$/, () => ({ text: 'ゲートウェイは停止中です' })],
]

/** @param rest matched parts, the whole text last */
function withDetail(text: string, rest: readonly string[]): ReasonParts {
  const detail = rest.at(-1)
  return detail === undefined ? { text } : { text, detail }
}

/**
 * Reason of a failed attempt in the language of the console: known ones are Japanese sentences with the original as
 * detail, others stay as they are.
 */
export function reasonParts(text: string, language: 'en' | 'ja'): ReasonParts {
  if (language !== 'ja') return { text }
  for (const [pattern, parts] of REASONS) {
    const [found, ...groups] = pattern.exec(text) ?? []
    if (found !== undefined) return parts(...groups, found)
  }
  return { text }
}

/** Reason of a failed attempt in one line, with the original in brackets. */
export function reasonText(reason: string, language: 'en' | 'ja'): string {
  const { text, detail } = reasonParts(reason, language)
  return detail === undefined ? text : `${text} (${detail})`
}
