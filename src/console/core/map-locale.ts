import { t } from './i18n.js'

/** Texts of the map library in the language of the page. */
export function mapLocale(): Record<string, string> {
  return {
    'AttributionControl.ToggleAttribution': t('mapSources'),
    'Map.Title': t('map'),
    'Marker.Title': t('mapMarker'),
    'NavigationControl.ZoomIn': t('zoomIn'),
    'NavigationControl.ZoomOut': t('zoomOut'),
    'Popup.Close': t('close'),
  }
}
