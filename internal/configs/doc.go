// Package configs changes the settings of topics, of all brokers, of clients'
// quotas and of SCRAM users in ZooKeeper, as the broker does that is asked for it:
// judged, written under /config, announced at /config/changes. As in Kafka that is
// no work of the controller's event thread, and no write of it is fenced by the
// controller's epoch.
//
// It knows no request and no connection. What it is given and reads holds secrets
// (SCRAM): it says nothing but what is wrong, and logs nothing.
//
// It may import kstate/model, kstate/engine (what a topic's setting may be),
// kstate/internal/handshake (SCRAM credentials) and kstate/internal/security (SCRAM
// mechanisms).
package configs
