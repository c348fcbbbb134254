import type { RecordSurvey } from '../../tabular/survey.js'
import { h } from '../core/dom.js'
import { formatNumber, t } from '../core/i18n.js'
import type { LookedAt } from './look.js'

/** Notes for the user about a file before it is imported. */
export function fileNotes(
  { survey, file }: LookedAt,
  { badPlaces, nowhere }: RecordSurvey,
  others: number,
): HTMLElement[] {
  const place = file.places === 'lines' ? 'importLine' : 'importRecord'
  const odd = survey.columns.flatMap(({ source, odd: found }) =>
    found === undefined
      ? []
      : [
          t('importOdd', {
            ...{ column: source, n: formatNumber(found.count), text: found.text },
            place: t(place, { n: formatNumber(found.place) }),
          }),
        ],
  )
  const texts = [
    ...(others > 0 ? [t('importOthers', { n: others })] : []),
    ...(badPlaces === undefined
      ? []
      : [
          t('importBadPlaces', {
            ...{ n: formatNumber(badPlaces.count), text: badPlaces.text },
            place: t(place, { n: formatNumber(badPlaces.place) }),
          }),
        ]),
    ...(nowhere > 0
      ? [t('importNowhere', { n: formatNumber(nowhere), m: formatNumber(survey.rowCount) })]
      : []),
    ...odd,
  ]
  return texts.map((text) => h('p', { class: 'notice warn' }, text))
}
