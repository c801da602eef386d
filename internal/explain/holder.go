package explain

import (
	"fmt"

	"kstate/internal/tree"
	"kstate/model"
)

// pile is how many unread ISR change notifications are more than a controller
// that works leaves: it reads and deletes them as they come.
const pile = 10

// controllerCauses are the reasons for which nothing that needs a controller
// goes on.
func (c *Cluster) controllerCauses() []model.Cause {
	if c.memory != nil {
		return c.otherController()
	}
	st := c.status()
	named := c.at(model.ControllerPath, fmt.Sprintf("broker %d holds the role", st.ID), "nobody holds the role")
	take := "another broker creates " + model.ControllerPath
	if see := c.look(model.ControllerPath); see.Err != "" && see.Version == nil {
		return nil // it may not be read: nothing is known
	}
	switch st.Status {
	case tree.ControllerAbsent:
		resumes := "a broker creates " + model.ControllerPath + "; each registered one tries at once, unless it cannot start as controller"
		if len(c.view.Brokers()) == 0 {
			resumes = "a broker registers and creates " + model.ControllerPath
		}
		return []model.Cause{{What: "no-controller", Subject: "nobody is the controller", Holds: true,
			Evidence: []model.Evidence{named}, Resumes: []string{resumes}}}
	case tree.ControllerNotRegistered:
		return []model.Cause{{What: "controller-not-registered", Subject: fmt.Sprintf("the controller is broker %d, which is not registered", st.ID), Holds: true,
			Evidence: []model.Evidence{named, c.brokerEvidence(st.ID)},
			Resumes:  []string{fmt.Sprintf("broker %d registers", st.ID), "the session that holds " + model.ControllerPath + " ends, and " + take}}}
	case tree.ControllerPersistent:
		named.Says += ", but the znode belongs to no session and never goes by itself"
		return []model.Cause{{What: "controller-znode-persistent", Subject: "nobody is the controller, and nobody can become it", Holds: true,
			Evidence: []model.Evidence{named}, Resumes: []string{model.ControllerPath + " is deleted by hand"}}}
	case tree.ControllerKRaft:
		named.Says = fmt.Sprintf("a KRaft controller (%d) owns the cluster", st.ID)
		return []model.Cause{{What: "kraft-controller", Subject: "no ZooKeeper controller may take the cluster over", Holds: true,
			Evidence: []model.Evidence{named}, Resumes: []string{"the KRaft controller handles it; after a rollback, " + model.ControllerPath + " is deleted by hand"}}}
	case tree.ControllerUnparsable:
		named.Says = "it is not a JSON object with brokerid"
		return []model.Cause{{What: "controller-znode-unparsable", Subject: "who the controller is cannot be read", Holds: true,
			Evidence: []model.Evidence{named}, Resumes: []string{model.ControllerPath + " goes, by its session's end or by hand"}}}
	}
	return c.notDraining(named)
}

// otherController: the memory explained is that of a process that is not the
// controller.
func (c *Cluster) otherController() []model.Cause {
	st := c.status()
	if st.Self {
		return nil
	}
	says := "nobody is the controller"
	if st.ID >= 0 {
		says = fmt.Sprintf("broker %d is the controller, not this process", st.ID)
	}
	return []model.Cause{{What: "no-controller", Subject: "this process is not the controller, and its memory is empty", Holds: true,
		Evidence: []model.Evidence{remembers("%s", says), c.at(model.ControllerPath, "somebody holds the role", "nobody holds the role")},
		Resumes:  []string{"this process becomes the controller"}}}
}

// notDraining: requests lie there that a controller at work would have consumed.
func (c *Cluster) notDraining(named model.Evidence) []model.Cause {
	n := c.children(model.IsrChangeNotificationPath)
	if n < pile {
		return nil
	}
	evidence := []model.Evidence{named, c.at(model.IsrChangeNotificationPath, model.Plural(n, "unread notification")+" below it", "")}
	if c.look(model.PreferredReplicaElectionPath).Exists {
		evidence = append(evidence, c.at(model.PreferredReplicaElectionPath, "a request that was not taken up", ""))
	}
	return []model.Cause{{What: "controller-not-draining", Subject: fmt.Sprintf("broker %d holds the role but does not do its work", c.status().ID), Holds: true,
		Evidence: evidence, Resumes: []string{"the controller works on", "its session ends or " + model.ControllerPath + " is deleted, and another broker takes over"}}}
}

// brokerEvidence is the registration of a broker, or the lack of it.
func (c *Cluster) brokerEvidence(id int32) model.Evidence {
	return c.at(model.BrokerIDPath(id), fmt.Sprintf("broker %d is registered", id), fmt.Sprintf("broker %d is not registered", id))
}

// controllerEvidence is who holds the role, and who did as far as the controller
// remembers where that is another.
func (c *Cluster) controllerEvidence() model.Evidence {
	st := c.status()
	says := st.Status
	if st.ID >= 0 {
		says = fmt.Sprintf("broker %d, %s", st.ID, st.Status)
	}
	ev := c.at(model.ControllerPath, "the controller: "+says, "there is no controller")
	z, ok := c.data(model.ControllerPath)
	if c.memory == nil || !ok {
		return ev
	}
	if st.ID < 0 {
		says = "nobody"
	}
	switch id, present, err := model.DecodeController(z.Path, z.Data); {
	case err != nil || !present:
		ev.Says = "it cannot be read; the controller remembers " + says
	case id != st.ID:
		ev.Says = fmt.Sprintf("the controller: broker %d; the controller remembers %s", id, says)
	}
	return ev
}

// controllerUnread notes that who the controller is may not be read.
func (c *Cluster) controllerUnread(e *model.Explanation) {
	if see := c.look(model.ControllerPath); c.survey != nil && see.Err != "" && see.Version == nil {
		e.NotKnown = append(e.NotKnown, "whether there is a controller: "+see.Err)
	}
}
