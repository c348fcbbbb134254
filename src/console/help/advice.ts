import type { Language } from '../core/settings.js'

/** Advice by error name, for errors whose message does not say what to do. */
const ADVICE: Record<string, readonly [en: string, ja: string]> = {
  PARSE_ERROR: [
    'Send valid JSON in UTF-8. Check that the shell has not removed quotes.',
    '有効な JSON を UTF-8 で送信してください。シェルが引用符を除去していないか確認してください。',
  ],
  INVALID_PARAMS: [
    'See data.faults: each entry has a path in params and the value that was expected there.',
    'data.faults を確認してください。params 内のパスと、期待される値が示されています。',
  ],
  INVALID_REQUEST: [
    'Send an object with jsonrpc "2.0", method and id, or an array of such objects.',
    'jsonrpc "2.0"、method、id を含むオブジェクト、またはその配列を送信してください。',
  ],
  METHOD_NOT_FOUND: [
    'Methods have different paths. See the API explorer for the path of this method.',
    'パスはメソッドによって異なります。API エクスプローラーで確認してください。',
  ],
  INTERNAL: [
    'This is a fault of the gateway. Find the request id in its log and report it.',
    'ゲートウェイの不具合です。ログでリクエスト ID を検索し、報告してください。',
  ],
  UNAUTHENTICATED: [
    'Send APIKey and Secret, or the token of an open session. Check the clock of the device.',
    'APIKey と Secret、または有効なセッショントークンを送信してください。デバイスの時計も確認してください。',
  ],
  FORBIDDEN: [
    'The key does not have the scope in data.scope: fieldgate key create --scope …',
    'API キーに data.scope のスコープがありません: fieldgate key create --scope …',
  ],
  RATE_LIMITED: [
    'Wait for the time in Retry-After, and combine calls into batches.',
    'Retry-After の時間が経過してから再試行してください。複数の呼び出しはバッチにまとめてください。',
  ],
  BODY_TOO_LARGE: [
    'Use the stream endpoint for many records, and the upload for models.',
    '大量のレコードにはストリームエンドポイントを、モデルにはアップロードを使用してください。',
  ],
  UNAVAILABLE: [
    'The gateway is starting or stopping. Retry in a few seconds.',
    'ゲートウェイが起動中または停止中です。数秒後に再試行してください。',
  ],
  DISK_FULL: [
    'Free some space on the device (fieldgate vacuum, old models, old maps). Reading still works.',
    'デバイスの空き容量を増やしてください (fieldgate vacuum、古いモデルや地図の削除)。読み取りは引き続き可能です。',
  ],
  STORAGE_DAMAGED: [
    'Run fieldgate doctor on the device, then restore a backup that fieldgate verify reports as ok.',
    'デバイスで fieldgate doctor を実行し、fieldgate verify で正常と確認されたバックアップから復元してください。',
  ],
  STORAGE_FAILED: [
    'The disk fails or was mounted read-only. See the log and dmesg, make a backup, replace the disk.',
    'ディスクの故障か、読み取り専用でのマウントです。ログと dmesg を確認し、バックアップを取って交換してください。',
  ],
  DATABASE_UNAVAILABLE: [
    'Nothing was stored. Retry after Retry-After; if it goes on, see the log of the hub and its database.',
    '何も保存されていません。Retry-After の時間が経過してから再試行してください。続く場合は、ハブとデータベースのログを確認してください。',
  ],
  OBJECTS_UNAVAILABLE: [
    'Nothing was stored. Retry after Retry-After; if it goes on, see the log of the hub: it says what its store answers.',
    '何も保存されていません。Retry-After の時間が経過してから再試行してください。続く場合は、ハブのログでオブジェクトストアの応答を確認してください。',
  ],
  BUSY: [
    'Too many calls at the same time. Retry after Retry-After with fewer concurrent calls.',
    '同時に実行されている呼び出しが多すぎます。並列数を減らし、Retry-After の時間が経過してから再試行してください。',
  ],
  TIME_LIMIT: [
    'Reduce the request: a smaller area, fewer points.',
    '範囲を狭くするか、地点の数を減らしてください。',
  ],
  BAD_CONDITION: [
    'A condition has the form {"op": [column, value]}. The message says where it is wrong.',
    '条件は {"op": [列, 値]} の形式で指定します。誤りの位置はメッセージに示されています。',
  ],
  ALREADY_REGISTERED: [
    'Add records to the existing table, or choose another name.',
    '既存のテーブルにレコードを追加するか、別の名前を指定してください。',
  ],
  UNKNOWN_TABLE: [
    'See the list of tables. Names are case-sensitive.',
    'テーブルの一覧を確認してください。大文字と小文字は区別されます。',
  ],
  BAD_RECORD: [
    'The message gives the record, the column and the reason. No record of the call was stored.',
    'レコード、列、理由はメッセージに示されています。この呼び出しのレコードは 1 件も保存されていません。',
  ],
  RECORD_EXISTS: [
    'Use if_exists "skip" or "override".',
    'if_exists に "skip" か "override" を指定してください。',
  ],
  TABLE_CITED: [
    'A citation refers to this table. Delete the citation first.',
    'このテーブルは引用されています。先に引用を削除してください。',
  ],
  OUTSIDE_MAP: [
    'Move the point into the area of the map, or build a map of that region.',
    '地点を地図の範囲内に移動するか、その地域の地図を作成してください。',
  ],
  NO_ROUTE: [
    'No road leads there under the current closures and turn restrictions. Move a point, or lower a sensitivity of 9999.',
    '現在の通行止めや進入禁止の条件では経路がありません。地点を移動するか、9999 に設定した感度を下げてください。',
  ],
  UNKNOWN_MAP: [
    'data.known lists the maps. New map files are loaded after SIGHUP.',
    'data.known に地図の一覧があります。新しい地図ファイルは SIGHUP の送信後に読み込まれます。',
  ],
  NO_BASE_MAP: [
    'Build the map with --base, which writes the base map beside it.',
    '地図を --base を付けて作成すると、背景地図が隣に保存されます。',
  ],
  BAD_BASE_MAP: [
    'Build the map again with --base --force, or remove the file: routes do not need it.',
    '地図を --base --force で作り直すか、ファイルを削除してください。経路の検索には不要です。',
  ],
  UNKNOWN_THEME: [
    'A theme is a table with a level column. Register the table, or check the spelling.',
    'テーマは、レベルの列があるテーブルです。テーブルを登録するか、名前の綴りを確認してください。',
  ],
  BAD_SENSITIVITY: [
    'Give 11 numbers, each 0 or greater, for the levels 0 to 10.',
    'レベル 0～10 に対応する 0 以上の数値を 11 個指定してください。',
  ],
  TOO_MANY_VIA: [
    'Split the route, or raise routing.maxVia.',
    '経路を分割するか、routing.maxVia の値を大きくしてください。',
  ],
  SEARCH_TOO_LARGE: [
    'Choose points that are closer together, or raise routing.maxSettledNodes.',
    '地点間の距離を短くするか、routing.maxSettledNodes の値を大きくしてください。',
  ],
  UNKNOWN_DATASET: ['See the list of datasets.', 'データセットの一覧を確認してください。'],
  ALREADY_EXISTS: [
    'Choose another name, or delete the existing dataset.',
    '別の名前を指定するか、既存のデータセットを削除してください。',
  ],
  UNKNOWN_CITATION: [
    'Use the long form that the list of citations shows.',
    '引用の一覧に表示されている long form を使用してください。',
  ],
  NO_UPSTREAM: [
    'Create an upstream for the store on the page Upstreams and outbox.',
    '「アップストリームと送信トレイ」で、ストアのアップストリームを作成してください。',
  ],
  UPSTREAM_UNREACHABLE: [
    'No data is lost: the transfer waits in the outbox and continues when the connection is back.',
    'データは失われていません。転送は送信トレイで待機し、接続が復旧すると再開されます。',
  ],
  UPSTREAM_REFUSED: [
    'The upstream refused the request. See its status and message in data; often the key or the store name is wrong.',
    'アップストリームがリクエストを拒否しました。data のステータスとメッセージを参照し、API キーとストア名を確認してください。',
  ],
  NO_AGGREGATED_MODEL: [
    'The upstream has no aggregated model yet. Retry later.',
    'アップストリームに集約済みモデルがまだありません。後で再試行してください。',
  ],
  BAD_ENDPOINT: [
    'Use the form https://host/api/v2/fl/jsonrpc. For http: or this machine see sync.allowInsecure and sync.allowLoopback.',
    'https://host/api/v2/fl/jsonrpc の形式で指定してください。http または同じデバイスに接続する場合は、sync.allowInsecure と sync.allowLoopback を参照してください。',
  ],
  STORE_IN_USE: [
    'Models of the store are waiting in the outbox. Wait until they are sent, or cancel the transfers.',
    '送信待ちのモデルがあります。送信が完了するまで待つか、転送をキャンセルしてください。',
  ],
  LOOP: [
    'This model came from this node: an upstream leads back to it.',
    'このモデルはこのノードから送信されたものです。アップストリームの設定が循環しています。',
  ],
  DIGEST_MISMATCH: [
    'The bytes were changed in transit, or the file was written to during the upload. Upload it again.',
    '転送中にデータが変化したか、アップロード中にファイルが変更されました。もう一度アップロードしてください。',
  ],
  SIGNATURE_REFUSED: [
    'Sign this file with a key that the gateway trusts (fieldgate model sign), and upload both together.',
    'ゲートウェイが信頼する鍵でファイルに署名し(fieldgate model sign)、署名と一緒にアップロードしてください。',
  ],
  TOO_MANY_UPLOADS: [
    'Finish or cancel other uploads of this key. Unfinished uploads expire automatically.',
    'この API キーの他のアップロードを完了またはキャンセルしてください。未完了のアップロードは自動的に期限切れになります。',
  ],
}

/** Names of the errors that have advice. */
export const ADVISED: readonly string[] = Object.keys(ADVICE)

/** Returns the advice for an error; '' when there is none. */
export function adviceFor(name: string, language: Language): string {
  return ADVICE[name]?.[language === 'ja' ? 1 : 0] ?? ''
}
