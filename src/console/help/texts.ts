import type { Language } from '../core/settings.js'

/** A titled recipe of the help page. */
export interface Section {
  readonly title: string
  /** paragraphs; one that begins with `$ ` is a command or a JSON call */
  readonly lines: readonly string[]
}

/** Texts of the help page in one language. */
interface HelpTexts {
  readonly quick: readonly string[]
  readonly concepts: readonly string[]
  readonly recipes: readonly Section[]
}

const REGISTER = `$ {"jsonrpc":"2.0","id":1,"method":"loaderwebapi.register_loader","params":{"data_name":"rain",
 "record_def":{"gauge":{"udt_name":"varchar","length":20},"mm":{"udt_name":"float8"}},"unique_columns":["gauge","start_datetime"]}}`
const FLOOD = `$ {"themes":{"flood":[0,0,0,0,0,0,0,0,0,0,9999]},"start_lonlat":[…],"goal_lonlat":[…],"start_datetime":"2026-01-01 00:00:00Z"}`

const EN: HelpTexts = {
  quick: [
    'Build a map of your region, start the gateway, and sign in here with the API key that the first start printed.',
    '$ fieldgate map build REGION.osm.pbf --data-dir ./data\n$ fieldgate serve --data-dir ./data --port 8080',
    'On the page Map and routes, click a start and a destination. Choose a risk theme and move the time slider: the route changes.',
  ],
  concepts: [
    'A table holds events, which have a place and a time. A table with a column of levels from 0 to 10 is a theme of the risk map.',
    'A route is the path of least cost for your sensitivities: at level i a road counts as taking 1 + x times as long.',
    'A dataset is a table whose states can be cited. A citation always returns the same rows, whatever is written later.',
    'A model store holds model files. Uploaded models are sent to the upstream of the store through the outbox; aggregated models come back.',
    'An API key identifies a caller and has scopes, which are its permissions. A session is a token with the scopes of a key and a limited lifetime.',
  ],
  recipes: [
    {
      title: 'Create a table and show it on the map',
      lines: [
        'Drop a file on any page: the console finds its columns, time and place, and makes the table. Without a file: Tables → New table. Then open the table and choose Show on map. With the API:',
        REGISTER,
      ],
    },
    {
      title: 'Avoid a flood',
      lines: [
        'Map and routes: select the theme, set the time, choose “Avoid”, then click the start and the destination. With the API, call routing.dijkstra with:',
        FLOOD,
      ],
    },
    {
      title: 'Send a model upstream',
      lines: [
        'Upstreams and outbox → New upstream of models: enter the address, the key and the store of the upstream gateway. Upload a model to the store; the outbox shows the transfer. With the command line:',
        '$ fieldgate model put model.bin --store demo --kind detector\n$ fieldgate sync status',
      ],
    },
    {
      title: 'Cite a dataset',
      lines: [
        'Open a dataset or a table and choose “Cite this state”. The landing page of the citation shows how to cite it and how to read its data.',
        '$ fieldgate cite verify && fieldgate cite export LABEL -o state.gpkg',
      ],
    },
  ],
}

const JA: HelpTexts = {
  quick: [
    '地域の地図を作成してゲートウェイを起動し、初回起動時に表示された API キーでサインインします。',
    '$ fieldgate map build REGION.osm.pbf --data-dir ./data\n$ fieldgate serve --data-dir ./data --port 8080',
    '「地図と経路」で出発地と目的地をクリックします。リスクのテーマを選択して日時のスライダーを動かすと、経路が変わります。',
  ],
  concepts: [
    'テーブルには、位置と日時を持つイベントを保存します。0～10 のレベルの列があるテーブルは、リスクマップのテーマになります。',
    '経路は、指定した感度でコストが最小になる道順です。レベル i の道路の通過時間を 1 + x 倍として計算します。',
    'データセットは、特定の時点の状態を引用できるテーブルです。引用からは、その後の変更に関係なく、常に同じ行を取得できます。',
    'モデルストアにはモデルファイルを保存します。アップロードしたモデルは送信トレイを経由してアップストリームに送信され、集約モデルが返されます。',
    'API キーは呼び出し元を識別し、権限 (スコープ) を持ちます。セッションは、API キーと同じスコープを持つ有効期限付きのトークンです。',
  ],
  recipes: [
    {
      title: 'テーブルを作成して地図に表示する',
      lines: [
        '任意のページにファイルをドロップすると、列、日時、位置を判別してテーブルを作成できます。ファイルがない場合は「テーブル」→「新規テーブル」で作成します。テーブルを開き、「地図に表示」を選択します。API の場合:',
        REGISTER,
      ],
    },
    {
      title: '洪水を避ける',
      lines: [
        '「地図と経路」でテーマを選択し、日時を設定して「回避」を選び、出発地と目的地をクリックします。API の場合は、次のパラメーターで routing.dijkstra を呼び出します:',
        FLOOD,
      ],
    },
    {
      title: 'モデルをアップストリームに送信する',
      lines: [
        '「アップストリームと送信トレイ」→「新規のモデル用アップストリーム」で、アップストリームのアドレス、API キー、ストアを入力します。ストアにモデルをアップロードすると、送信トレイに転送が表示されます。コマンドラインの場合:',
        '$ fieldgate model put model.bin --store demo --kind detector\n$ fieldgate sync status',
      ],
    },
    {
      title: 'データセットを引用する',
      lines: [
        'データセットまたはテーブルを開き、「この状態を引用」を選択します。引用のランディングページに、引用形式とデータの取得方法が表示されます。',
        '$ fieldgate cite verify && fieldgate cite export LABEL -o state.gpkg',
      ],
    },
  ],
}

/** Returns the texts of the help page. */
export function helpTexts(language: Language): HelpTexts {
  return language === 'ja' ? JA : EN
}
