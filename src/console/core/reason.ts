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

/** What a page says of a fault. */
export interface Said {
  /** in the language of the page */
  readonly text: string
  /** English words of the gateway, of an upstream or of the browser, beside a text in another language */
  readonly detail?: string
}

/** A text with its detail in brackets. */
export function oneLine({ text, detail }: Said): string {
  return detail === undefined ? text : `${text} (${detail})`
}

/** Reasons of failed attempts and of parts that are not ready, as the gateway words them. */
const REASONS: readonly (readonly [RegExp, string | ((...parts: string[]) => Said)])[] = [
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
  [/^the wall clock is behind .*$/, 'デバイスの時計が正しくありません。期限切れの処理は行われません'],
  [/^\d+ bytes are free, .*$/, 'ディスクの空き容量が不足しています。読み取りは可能です'],
  [/^the search (?:worker|thread) (?:did not answer|cannot be used).*$/, '経路検索が応答していません'],
  [/^\S+ cannot be written$/, 'データを書き込めません'],
  [/^\S+ cannot be read$/, 'データを読み取れません'],
  [/^a database has damaged pages: .*$/, 'データベースが破損しています。バックアップから復元してください'],
  [
    /^\S+ is no longer the file that was opened: .*$/,
    'データベースのファイルが置き換えられています。ゲートウェイを再起動してください',
  ],
  [/^the database (?:did not answer|cannot be used).*$/, 'データベースを使用できません'],
  [/^the object store (?:did not answer|cannot be used).*$/, 'オブジェクトストアを使用できません'],
  [/^the last round of housekeeping failed; .*$/, '定期メンテナンスに失敗しました'],
  [/^the gateway is stopping$/, () => ({ text: 'ゲートウェイは停止中です' })],
]

/**
 * Reason of a failed attempt in the language of the console: known ones are Japanese sentences with the original as
 * detail, others stay as they are.
 */
export function reasonParts(text: string, language: 'en' | 'ja'): Said {
  if (language !== 'ja') return { text }
  const known = knownReason(text)
  if (known !== undefined) return known
  // a part may have several reasons
  const each = text.split(/; (?!the log has|reads go on)/).map(knownReason)
  if (each.length < 2 || each.some((one) => one === undefined)) return { text }
  return { text: each.map((one) => one?.text).join('。'), detail: text }
}

function knownReason(text: string): Said | undefined {
  for (const [pattern, said] of REASONS) {
    const [found, ...groups] = pattern.exec(text) ?? []
    if (found !== undefined) return typeof said === 'string' ? { text: said, detail: found } : said(...groups)
  }
  return undefined
}
