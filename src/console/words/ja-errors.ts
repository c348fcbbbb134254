/** Japanese sentences for the errors of the gateway, by name. */
export const JA_ERRORS: Readonly<Record<string, string>> = {
  PARSE_ERROR: 'リクエストが有効な JSON ではありません',
  INVALID_REQUEST: 'リクエストが JSON-RPC 2.0 の形式ではありません',
  METHOD_NOT_FOUND: 'この名前のメソッドはありません',
  INVALID_PARAMS: '入力内容に誤りがあります',
  INTERNAL: 'ゲートウェイで内部エラーが発生しました。原因はログに記録されています',

  UNAUTHENTICATED: '認証に失敗しました。API キーとシークレットを確認してください',
  FORBIDDEN: 'API キーに必要なスコープがありません',
  NOT_FOUND: '指定されたアドレスには何もありません',
  METHOD_NOT_ALLOWED: 'このアドレスでは使用できない HTTP メソッドです',
  BODY_TIMEOUT: 'データの送信が途中で止まりました',
  BODY_TOO_LARGE: '送信するデータが大きすぎます',
  UNSUPPORTED_MEDIA_TYPE: 'このアドレスでは使用できないデータ形式です',
  HEADERS_TOO_LARGE: 'リクエストヘッダーが大きすぎます',
  RATE_LIMITED: '呼び出しが多すぎます。しばらくしてから再試行してください',
  UNAVAILABLE: 'ゲートウェイが起動中または停止中です',
  DISK_FULL: 'デバイスのディスクに空きがありません。読み取りは可能です',
  ALERT_UNAVAILABLE: 'このゲートウェイにはアラート API がありません',
  BAD_HTTP: 'HTTP リクエストを読み取れません',
  BAD_CONDITION: '条件に誤りがあります',
  BUSY: '処理が混み合っています。しばらくしてから再試行してください',
  CANCELLED: '処理が中断されました',
  TOO_EXPENSIVE: '条件の処理に時間がかかりすぎます',
  VALUE_TOO_LARGE: '保存されている値が大きすぎて読み取れません',
  TIME_LIMIT: '処理が制限時間を超えました',
  NOT_ACCEPTABLE: '要求された形式では提供していません',
  STORAGE_DAMAGED: '保存されているデータが破損しています',
  STORAGE_FAILED: 'ディスクの読み書きができません',
  DATABASE_UNAVAILABLE: 'ハブのデータベースに接続できないか、書き込みが確認されません',
  OBJECTS_UNAVAILABLE: 'ハブのオブジェクトストアに接続できないか、拒否されました',

  TOO_MANY_SESSIONS: 'この API キーのセッションが多すぎます',

  UNKNOWN_MODULE: 'この名前のモジュールはありません',
  UNKNOWN_SCRIPT: 'モジュールにこの名前のメソッドはありません',
  BAD_MODULE: 'モジュールの定義に誤りがあります',
  MODULE_FAILED: 'モジュールの実行に失敗しました',
  MODULE_LIMIT: '上限を超えたため、モジュールを停止しました',
  BAD_OUTPUT: 'モジュールの出力に誤りがあります',
  BACKEND_UNREACHABLE: 'データ処理のバックエンドに接続できません',
  BACKEND_TIMEOUT: 'データ処理のバックエンドの応答がタイムアウトしました',
  BAD_BACKEND_ANSWER: 'データ処理のバックエンドから想定外の応答がありました',
  UNKNOWN_TRIGGER: 'この名前のトリガーはありません',
  TRIGGER_EXISTS: '同じ名前のトリガーがすでにあります',

  ALREADY_REGISTERED: '同じ名前のテーブルがすでにあります',
  UNKNOWN_TABLE: 'この名前のテーブルはありません',
  BAD_RECORD: 'テーブルに合わないレコードがあります',
  RECORD_EXISTS: '同じキーのレコードがすでにあります',
  UNKNOWN_FILE: 'このパスのファイルは保存されていません',
  TABLE_CITED: 'このテーブルは引用されています',

  BAD_MAP_FILE: '地図ファイルを使用できません',
  BAD_EXTRACT: 'OpenStreetMap のデータを使用できません',
  BAD_BASE_MAP: '背景地図を使用できません',
  NO_BASE_MAP: 'この地図には背景地図がありません',
  TOO_MANY_CELLS: '範囲内のメッシュが多すぎます',
  OUTSIDE_MAP: '地点が地図の範囲外か、道路から離れすぎています',
  NO_ROUTE: '地点の間を結ぶ経路がありません',
  UNKNOWN_MAP: 'この名前の地図はありません',
  UNKNOWN_THEME: 'この名前のテーマはありません',
  BAD_SENSITIVITY: '感度は 0 以上の数値 11 個で指定してください',
  TOO_MANY_VIA: '経由地が多すぎます',
  TOO_MANY_ITEMS: '一覧の件数が上限を超えています',
  SEARCH_TOO_LARGE: '経路検索の範囲が上限を超えています',

  UNKNOWN_DATASET: 'この名前のデータセットはありません',
  ALREADY_EXISTS: '同じ名前のデータセットがすでにあります',
  UNKNOWN_CITATION: 'この名前の引用はありません',
  CITATION_DAMAGED: '引用されている行が破損しています',
  CITATION_DIFFERS: '引用の行がここにあるものと異なります',

  NO_UPSTREAM: 'モデルストアにアップストリームがありません',
  UPSTREAM_DISABLED: 'アップストリームは無効になっています',
  UPSTREAM_UNREACHABLE: 'アップストリームに接続できません',
  UPSTREAM_REFUSED: 'アップストリームに拒否されました',
  NO_AGGREGATED_MODEL: 'アップストリームに集約済みモデルがありません',
  UNKNOWN_UPSTREAM: 'このアップストリームはありません',
  UNKNOWN_TRANSFER: 'この転送はありません',
  BAD_ENDPOINT: 'このエンドポイントは使用できません',
  UNKNOWN_FEED: 'このフィードはありません',
  FEED_EXISTS: 'このテーブルからアップストリームへのフィードがすでにあります',
  UPSTREAM_EXISTS: '同じ名前のアップストリームがすでにあります',
  UPSTREAM_IN_USE: 'フィードで使用中のアップストリームです',
  TABLE_DIFFERS: '相手側のテーブルの列が異なります',
  CURSOR_MISMATCH: '送信の開始位置が一致しません',
  STALE_EPOCH: 'このノードの復元された複製がすでに送信しています',
  BAD_BATCH: '受信したバッチを読み取れません',
  NOT_IN_THIS_VERSION: 'このバージョンでは提供していません',
  FEED_BEHIND: '相手側にまだ送信されていない行があります',
  TABLE_NOT_SENDABLE: 'フィードで送信できない列があります',

  UNKNOWN_MODEL: 'このモデルはありません',
  UNKNOWN_STORE: 'この名前のモデルストアはありません',
  STORE_EXISTS: '同じ名前のモデルストアがすでにあります',
  STORE_IN_USE: 'まだ送信されていないモデルがあります',
  BAD_UPLOAD: 'アップロードを読み取れません',
  LOOP: 'このモデルはすでにこのノードを通過しています',
  MODEL_DAMAGED: 'モデルのデータが破損しています',
  DIGEST_MISMATCH: 'データがダイジェストと一致しません',
  TOO_MANY_UPLOADS: '完了していないアップロードが多すぎます',
  BAD_DELTA: '差分を適用できません',
  SIGNATURE_REFUSED: 'モデルに有効な署名がありません',

  UNKNOWN_PROFILE: 'この名前のプロファイルはありません',
  PROFILE_CHANGED: 'プロファイルに新しいバージョンがあります',
  UNKNOWN_TOKEN: 'このトークンはありません',
  TOKEN_USED_UP: 'トークンの使用回数が上限に達しました',
  UNKNOWN_GATEWAY: 'このゲートウェイはフリートにありません',
  GATEWAY_KNOWN: 'ゲートウェイは別の公開鍵で参加しています',
  GATEWAY_REVOKED: 'ゲートウェイは失効しています',
  GATEWAY_IN_USE: 'ゲートウェイはフリートに参加しています',
  BAD_SIGNATURE: '署名が一致しません',
  UNKNOWN_DIGEST: 'このダイジェストのファイルはハブにありません',
  FILE_DAMAGED: 'ファイルのデータが破損しています',
  ALREADY_JOINED: 'このゲートウェイは別のハブに参加しています',
  NOT_JOINED: 'このゲートウェイはフリートに参加していません',
  NOT_ON_HUB: 'ハブでは提供していません',
}

/** Values that were found, as the gateway words them. */
const FOUND: readonly (readonly [RegExp, string])[] = [
  [/^nothing$/, '値がありません'],
  [/^null$/, '値が空 (null) です'],
  [/^none$/, '指定がありません'],
  [/^an object$/, '値がオブジェクトです'],
  [/^an array of (\d+)$/, '値が $1 件の配列です'],
  [/^(\d+) characters?$/, '$1 文字です'],
  [/^(\d+) items?$/, '$1 件です'],
  [/^(\d+) bytes$/, '$1 バイトです'],
  [/^the name "(.*)"$/s, '名前に「$1」が指定されました'],
  [/^"(.*)"$/s, '「$1」が指定されました'],
  [/^(-?[\d.e+-]+|true|false)$/, '$1 が指定されました'],
]

/** Values that were expected; a bound alone counts what was found. */
const EXPECTED: readonly (readonly [RegExp, string])[] = [
  [/^a value$/, '値を指定してください'],
  [/^at least one column$/, '列を 1 つ以上指定してください'],
  [
    /^1 to 63 letters, digits or any of _ - \. \(not \. or \.\. alone\)$/,
    '英数字と _ - . を使用し、63 文字以内で指定してください (. と .. のみは不可)',
  ],
  [/^a number, or its digits as a string$/, '数値を指定してください'],
  [/^a datetime like (.*)$/, '$1 の形式で日時を指定してください'],
  [/^a date like (\S+) .*$/, '$1 の形式で日付を指定してください'],
  [/^a time like (.*)$/, '$1 の形式で時刻を指定してください'],
  [/^GeoJSON, WKT or hex WKB$/, 'GeoJSON、WKT、16 進数の WKB のいずれかで指定してください'],
  [/^JSON text$/, 'JSON のテキストを指定してください'],
  [/^a name without control characters$/, '制御文字を含まない名前を指定してください'],
  [/^a string$/, '文字列を指定してください'],
  [/^true or false$/, 'true か false を指定してください'],
  [/^an array$/, '配列を指定してください'],
  [/^an object$/, 'オブジェクトを指定してください'],
  [/^a UUID$/, 'UUID を指定してください'],
  [/^a URL$/, 'URL を指定してください'],
  [/^a whole number from (\S+) to (\S+)$/, '$1～$2 の整数を指定してください'],
  [/^a number from (\S+) to (\S+)$/, '$1～$2 の数値を指定してください'],
  [/^a whole number of at least (\S+)$/, '$1 以上の整数を指定してください'],
  [/^a number of at least (\S+)$/, '$1 以上の数値を指定してください'],
  [/^a number above (\S+)$/, '$1 より大きい数値を指定してください'],
  [/^a whole number$/, '整数を指定してください'],
  [/^a number$/, '数値を指定してください'],
  [/^at least (\d+)$/, '$1 以上にしてください'],
  [/^at most (\d+)$/, '$1 以下にしてください'],
  [/^exactly (\d+)$/, 'ちょうど $1 にしてください'],
  [/^one of (.*)$/s, '次のいずれかを指定してください: $1'],
]

/**
 * Japanese for `found …, expected …`; undefined where a part has no sentence.
 *
 * @param fault message of one value
 */
export function foundExpected(fault: string): string | undefined {
  const [, found = '', expected = ''] = /^found (.*), expected (.*)$/s.exec(fault) ?? []
  const [is, be] = [sentence(FOUND, found), sentence(EXPECTED, expected)]
  return is === undefined || be === undefined ? undefined : `${is}。${be}`
}

function sentence(table: readonly (readonly [RegExp, string])[], text: string): string | undefined {
  const entry = table.find(([pattern]) => pattern.test(text))
  return entry === undefined ? undefined : text.replace(entry[0], entry[1])
}
