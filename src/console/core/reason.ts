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

/** Reasons of failed attempts, as the gateway words them. */
const REASONS: readonly (readonly [RegExp, (...parts: string[]) => string])[] = [
  [
    /^The upstream answered (\d{3})(?:: (.*))?$/s,
    (status, text) => {
      const sentence = BY_STATUS[status ?? ''] ?? 'アップストリームに拒否されました'
      return `${sentence} (HTTP ${status}${text === undefined ? '' : `: ${text}`})`
    },
  ],
  [
    /^The upstream cannot be reached: (.*)$/s,
    (cause) => `アップストリームに接続できません。ネットワークとエンドポイントを確認してください (${cause})`,
  ],
  [/^The upstream answered (.*)$/s, (found) => `アップストリームから想定外の応答がありました (${found})`],
]

/**
 * Reason of a failed attempt in the language of the console. Known ones are Japanese sentences with the original in
 * brackets; others stay as they are.
 */
export function reasonText(text: string, language: 'en' | 'ja'): string {
  if (language !== 'ja') return text
  for (const [pattern, sentence] of REASONS) {
    const [found, ...parts] = pattern.exec(text) ?? []
    if (found !== undefined) return sentence(...parts)
  }
  return text
}
