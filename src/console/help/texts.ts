import type { Language } from '../core/settings.js'

export interface Section {
  readonly title: string
  /** paragraphs; one that begins with `$ ` is a command or a call */
  readonly lines: readonly string[]
}

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
    'Build a map of your region, start the gateway, and sign in here with the key that the first start printed.',
    '$ fieldgate map build REGION.osm.pbf --data-dir ./data\n$ fieldgate serve --data-dir ./data --port 8080',
    'On the page Map and routes click a start and a goal. Choose a risk theme, move the slider, and watch the way change.',
  ],
  concepts: [
    'A table holds events: things with a place and a time. A table with a column of levels 0 to 10 is a risk map theme.',
    'A route is the cheapest way under your own sensitivities: at level i a road takes 1 + x times as long.',
    'A dataset is a table whose states can be cited; a citation reads the same for good, whatever is written later.',
    'A model store holds files of models. What is put here goes to the store’s upstream through the outbox; aggregated models come back.',
    'A key says who you are and what you may do (scopes); a session is a token that stands for a key for some time.',
  ],
  recipes: [
    {
      title: 'Register a table and see it on the map',
      lines: [
        'Tables → New table: a name, the columns, the key. Then open it, Import a file, Show on the map. Over the API:',
        REGISTER,
      ],
    },
    {
      title: 'Avoid a flood',
      lines: [
        'Map and routes: tick the theme, set the time, choose “Avoid”, then click start and goal. Over the API, routing.dijkstra with:',
        FLOOD,
      ],
    },
    {
      title: 'Sync a model',
      lines: [
        'Upstreams and outbox → New upstream: address, key and store of the other gateway. Upload a model to the store: the outbox shows it go. From a shell:',
        '$ fieldgate model put model.bin --store demo --kind detector\n$ fieldgate sync status',
      ],
    },
    {
      title: 'Cite a dataset',
      lines: [
        'Open a dataset or a table and choose “Cite this state”. The landing page of the citation tells how to name and how to read it.',
        '$ fieldgate cite verify && fieldgate cite export LABEL -o state.gpkg',
      ],
    },
  ],
}

const JA: HelpTexts = {
  quick: [
    '地域の地図を作り、ゲートウェイを起動し、初回起動時に表示された鍵でサインインします。',
    '$ fieldgate map build REGION.osm.pbf --data-dir ./data\n$ fieldgate serve --data-dir ./data --port 8080',
    '「地図と経路」で出発地と目的地をクリックします。リスクのテーマを選び、スライダーを動かすと経路が変わります。',
  ],
  concepts: [
    'テーブルは場所と時刻を持つイベントの表です。0～10 のレベル列を持つテーブルはリスクマップのテーマになります。',
    '経路は利用者の感度のもとで最も安い道です。レベル i の道路は 1 + x 倍の時間がかかるとみなします。',
    'データセットは状態を引用できる表です。引用は後で何が書かれても同じ内容を読み出します。',
    'モデルストアはモデルのファイルを保持します。登録したものは送信箱から上流へ送られ、集約モデルが戻ります。',
    '鍵は利用者と権限 (スコープ) を表し、セッションは一定時間鍵の代わりになるトークンです。',
  ],
  recipes: [
    {
      title: 'テーブルを登録して地図に表示する',
      lines: [
        '「テーブル」→「新しいテーブル」で名前・列・キーを決め、ファイルを取り込み、「地図に表示」を選びます。API の場合:',
        REGISTER,
      ],
    },
    {
      title: '洪水を避ける',
      lines: [
        '「地図と経路」でテーマを選び、時刻と「回避」を設定し、出発地と目的地をクリックします。API では routing.dijkstra に:',
        FLOOD,
      ],
    },
    {
      title: 'モデルを同期する',
      lines: [
        '「上流と送信箱」→「新しい上流」で相手のアドレス・鍵・ストアを設定し、モデルをアップロードすると送信箱に表示されます。シェルでは:',
        '$ fieldgate model put model.bin --store demo --kind detector\n$ fieldgate sync status',
      ],
    },
    {
      title: 'データセットを引用する',
      lines: [
        'データセットかテーブルを開いて「この状態を引用」を選びます。引用のページに書き方と読み出し方が表示されます。',
        '$ fieldgate cite verify && fieldgate cite export LABEL -o state.gpkg',
      ],
    },
  ],
}

export function helpTexts(language: Language): HelpTexts {
  return language === 'ja' ? JA : EN
}
