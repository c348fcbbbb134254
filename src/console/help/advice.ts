import type { Language } from '../core/settings.js'

/** What to do about an error, by its name. Those without an entry say all in their message. */
const ADVICE: Record<string, readonly [en: string, ja: string]> = {
  PARSE_ERROR: [
    'Send valid JSON in UTF-8; check quotes that a shell may have eaten.',
    '正しい JSON (UTF-8) を送ってください。シェルによる引用符の消失に注意。',
  ],
  INVALID_PARAMS: [
    'Read data.faults: each has the path in params and what was expected there.',
    'data.faults に、params 内の位置と期待される値が示されています。',
  ],
  INVALID_REQUEST: [
    'Send an object with jsonrpc "2.0", method and id, or an array of such.',
    'jsonrpc "2.0"、method、id を持つオブジェクトまたはその配列を送ってください。',
  ],
  METHOD_NOT_FOUND: [
    'Each method has its own path: look it up in the API explorer.',
    'メソッドごとにパスが違います。API エクスプローラーで確認してください。',
  ],
  INTERNAL: [
    'A fault of the gateway: look for the request id in its log and report it.',
    'ゲートウェイ側の不具合です。リクエスト ID でログを調べて報告してください。',
  ],
  UNAUTHENTICATED: [
    'Send APIKey and Secret, or a session token that is still open. The device’s clock matters too.',
    'APIKey と Secret、または有効なトークンを送ってください。装置の時計も確認してください。',
  ],
  FORBIDDEN: [
    'The key lacks the scope that data.scope names: fieldgate key create --scope …',
    'data.scope のスコープを持つ鍵を作ってください: fieldgate key create --scope …',
  ],
  RATE_LIMITED: [
    'Wait as long as Retry-After says; put several calls into one batch.',
    'Retry-After の時間だけ待ち、複数の呼び出しはバッチにまとめてください。',
  ],
  BODY_TOO_LARGE: [
    'Use the stream endpoint for many records, or the upload for models.',
    '多数の記録にはストリーム、モデルにはアップロードを使ってください。',
  ],
  UNAVAILABLE: [
    'The gateway is starting or stopping: try again in some seconds.',
    '起動中または停止中です。数秒後に再試行してください。',
  ],
  DISK_FULL: [
    'Make room on the device (fieldgate vacuum, old models, old maps). Reads go on meanwhile.',
    '装置の空きを増やしてください (fieldgate vacuum、古いモデルや地図)。読み出しは可能です。',
  ],
  BUSY: [
    'Too much at once: try again after Retry-After, with fewer calls side by side.',
    '混み合っています。同時呼び出しを減らし、Retry-After の後に再試行してください。',
  ],
  TIME_LIMIT: [
    'Ask for less at once: a smaller area, fewer points.',
    '範囲や点を減らして問い合わせてください。',
  ],
  BAD_CONDITION: [
    'A condition is {"op": [column, value]}; the message names the place.',
    '条件は {"op": [列, 値]} の形です。メッセージが位置を示します。',
  ],
  ALREADY_REGISTERED: [
    'The table is there already: add records to it, or choose another name.',
    '同名のテーブルがあります。記録を追加するか、別の名前にしてください。',
  ],
  UNKNOWN_TABLE: [
    'Look at the list of tables; names are case-sensitive.',
    'テーブル一覧を確認してください。大文字と小文字は区別されます。',
  ],
  BAD_RECORD: [
    'The message names the record, the column and the reason. Nothing of the call was stored.',
    'メッセージが記録・列・理由を示します。その呼び出しは何も保存されていません。',
  ],
  RECORD_EXISTS: [
    'Use if_exists "skip" or "override".',
    'if_exists に "skip" か "override" を指定してください。',
  ],
  TABLE_CITED: [
    'A citation names this table: delete the citation first, if you may.',
    '引用があります。削除してよければ先に引用を削除してください。',
  ],
  OUTSIDE_MAP: [
    'Move the point that is named into the map, or build a map of that region.',
    '示された地点を地図内に移すか、その地域の地図を作ってください。',
  ],
  NO_ROUTE: [
    'No road leads there under these closures and turn rules: move the point or lower a sensitivity of 9999.',
    '通れる道がありません。地点を動かすか、9999 の感度を下げてください。',
  ],
  UNKNOWN_MAP: [
    'data.known lists the maps. New files are taken in after SIGHUP.',
    'data.known に地図の一覧があります。新しいファイルは SIGHUP 後に読み込まれます。',
  ],
  UNKNOWN_THEME: [
    'A theme is a table with a level column: register it, or look at the spelling.',
    'テーマはレベル列を持つテーブルです。登録するか綴りを確認してください。',
  ],
  BAD_SENSITIVITY: [
    'Give 11 numbers, each 0 or more, for the levels 0 to 10.',
    'レベル 0～10 の 11 個の数 (0 以上) を指定してください。',
  ],
  TOO_MANY_VIA: [
    'Split the journey, or raise routing.maxVia.',
    '行程を分けるか routing.maxVia を上げてください。',
  ],
  SEARCH_TOO_LARGE: [
    'Bring the points nearer to each other, or raise routing.maxSettledNodes.',
    '地点を近づけるか routing.maxSettledNodes を上げてください。',
  ],
  UNKNOWN_DATASET: ['Look at the list of datasets.', 'データセット一覧を確認してください。'],
  ALREADY_EXISTS: [
    'Choose another name, or delete the old dataset.',
    '別の名前にするか、古いデータセットを削除してください。',
  ],
  UNKNOWN_CITATION: [
    'Use the long form, as the list of citations shows it.',
    '引用一覧にある long form を使ってください。',
  ],
  NO_UPSTREAM: [
    'Set an upstream for the store on the page Upstreams and outbox.',
    '「上流と送信箱」でストアの上流を設定してください。',
  ],
  UPSTREAM_UNREACHABLE: [
    'Nothing is lost: it waits in the outbox and goes when the link is back.',
    '失われていません。回線が戻れば送信箱から送られます。',
  ],
  UPSTREAM_REFUSED: [
    'The other gateway refused: its status and words are in data. Often its key or store name.',
    '相手が拒否しました。data を見て鍵とストア名を確認してください。',
  ],
  NO_AGGREGATED_MODEL: [
    'The upstream has not aggregated yet: try again later.',
    '上流はまだ集約していません。後で再試行してください。',
  ],
  BAD_ENDPOINT: [
    'Give https://host/api/v2/fl/jsonrpc. For http: or this machine see sync.allowInsecure, sync.allowLoopback.',
    'https://host/api/v2/fl/jsonrpc を指定してください。http や同一装置は sync.allowInsecure、sync.allowLoopback を参照。',
  ],
  STORE_IN_USE: [
    'Models of the store still wait in the outbox: let them go, or cancel them.',
    '送信待ちのモデルがあります。送り終えるか取り消してください。',
  ],
  LOOP: [
    'This model came from this node: an upstream points back here.',
    'このモデルはこのノードから来ています。上流がここを指しています。',
  ],
  DIGEST_MISMATCH: [
    'The bytes changed on the way, or the file was written to meanwhile: upload it again.',
    '途中でバイトが変わりました。もう一度アップロードしてください。',
  ],
  TOO_MANY_UPLOADS: [
    'Finish or abandon uploads of this key; they expire by themselves.',
    '未完了のアップロードを終えてください。期限が来れば自動で消えます。',
  ],
}

/** Errors that something is said about. */
export const ADVISED: readonly string[] = Object.keys(ADVICE)

/** '' when there is nothing to add to the error's message. */
export function adviceFor(name: string, language: Language): string {
  return ADVICE[name]?.[language === 'ja' ? 1 : 0] ?? ''
}
