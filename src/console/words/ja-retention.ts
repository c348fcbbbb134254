import type { EN_RETENTION } from './en-retention.js'

/** Japanese texts of retention: which rows are removed, and when. */
export const JA_RETENTION: Record<keyof typeof EN_RETENTION, string> = {
  metricDiskDays: 'ディスクの残り日数 (直近 1 日の増加率)',
  days: '{n} 日',
  tabKeep: '保存期間',
  keepIntro:
    'このテーブルの古い行は、すべてのフィードが送信した後に自動的に削除されます。空欄は制限なしを意味します。',
  keepDays: '行を残す日数',
  keepRows: '最大行数',
  keepMegabytes: '最大サイズ (MB、ファイルを含む)',
  keepUnsent: 'フィードが送信する前の行も削除する',
  thinField: '間引き',
  thinNot: 'しない',
  thinFirst: '各区間の最初の行を残す',
  thinLast: '各区間の最後の行を残す',
  thinInto: '各区間を別のテーブルに集計する',
  thinAfterDays: '何日後に間引くか',
  thinMinutes: '区間の長さ (分)',
  thinBy: '系列の列',
  thinByHint: 'センサーなど。カンマ区切り',
  thinTable: '集計先のテーブル',
  keepSave: '保存',
  keepSaved: '保存しました。行は 1 分以内に削除されます。',
  keepState: '{rows} 行、約 {size} MB。これまでの削除: {gone}。',
  keepOldest: '最も古い行の時刻は {time} です。',
  keepWaiting: '{rows} 行が {to} へのフィードの送信を待っています。',
  keepFault: '行は削除されませんでした: {fault}',
}
