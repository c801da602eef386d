package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"kstate/internal/acl"
	"kstate/model"
)

// updateFeaturesAPI: version 0 only says whether a downgrade is allowed, version
// 2 only has an error for the whole, which then is that of the first feature
// that failed. Kafka: UpdateFeaturesRequest.getFeature.
func updateFeaturesAPI() api {
	return asked(0, 2,
		func(c *call, q *kmsg.UpdateFeaturesRequest) (model.Ask, kmsg.Response) {
			if !c.mayCluster(acl.Alter) {
				out := q.ResponseKind().(*kmsg.UpdateFeaturesResponse)
				out.ErrorCode, out.ErrorMessage = clusterDenied, clusterDeniedText
				return nil, out
			}
			ask := &model.UpdateFeatures{}
			for _, u := range q.FeatureUpdates {
				f := model.FeatureUpdate{Feature: u.Feature, MaxLevel: u.MaxVersionLevel, Type: upgradeType(q.Version, &u)}
				ask.Updates = append(ask.Updates, f)
			}
			return ask, nil
		},
		func(c *call, q *kmsg.UpdateFeaturesRequest, a *model.UpdateFeaturesAnswer) kmsg.Response {
			out := q.ResponseKind().(*kmsg.UpdateFeaturesResponse)
			out.ErrorCode, out.ErrorMessage = int16(a.Error), message(a.Error, a.Message)
			for _, f := range a.Features {
				r := kmsg.NewUpdateFeaturesResponseResult()
				r.Feature, r.ErrorCode, r.ErrorMessage = f.Feature, int16(f.Error), message(f.Error, f.Message)
				out.Results = append(out.Results, r)
				if q.Version >= 2 && out.ErrorCode == int16(model.ErrNone) {
					out.ErrorCode, out.ErrorMessage = r.ErrorCode, r.ErrorMessage
				}
			}
			return out
		})
}

func upgradeType(version int16, u *kmsg.UpdateFeaturesRequestFeatureUpdate) model.FeatureUpgradeType {
	switch {
	case version == 0 && u.AllowDowngrade:
		return model.SafeDowngrade
	case version == 0:
		return model.Upgrade
	case u.UpgradeType < int8(model.Upgrade) || u.UpgradeType > int8(model.UnsafeDowngrade):
		return model.UpgradeUnknown
	}
	return model.FeatureUpgradeType(u.UpgradeType)
}
